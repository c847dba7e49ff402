# SPDX-License-Identifier: MIT
"""tools/build/undocumented, on small files of its own.

Run it with pytest or with python3 -m unittest.
"""
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "tools" / "build" / "undocumented"

HEADER = """\
/**
 * struct known - a struct
 * @a: a member
 */
struct known {
	int a;
};

/**
 * at_prototype() - documented in the header
 *
 * Return: 0.
 */
int at_prototype(void);
"""

SOURCE = """\
int at_prototype(void)
{
	return 0;
}

/**
 * at_definition() - documented in the file
 * @value: a number
 */
void at_definition(int value)
{
}

/* Not seen by others. */
static struct known *
helper(int value)
{
	return 0;
}

static void initialiser(void)
{
	struct known known = {
		.a = 1,
	};
}
"""


class UndocumentedTest(unittest.TestCase):
    """Each test writes a header and a source, and reads what the program says of them."""

    def check(self, header=HEADER, source=SOURCE):
        """Exit status, and the complaints without the folder."""
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, text in (("a.h", header), ("a.c", source)):
                paths.append(pathlib.Path(folder) / name)
                paths[-1].write_text(text, encoding="utf-8")
            done = subprocess.run([PROGRAM, *paths], capture_output=True, text=True, check=False)
        self.assertEqual("", done.stderr)
        return done.returncode, done.stdout.replace(f"{folder}/", "").splitlines()

    def test_all_is_documented(self):
        """Comments at the prototype or the definition; static functions need none."""
        self.assertEqual((0, []), self.check())

    def test_function(self):
        """A function without a comment."""
        source = SOURCE + "\nint bare(int value)\n{\n\treturn value;\n}\n"
        line = source[:source.index("int bare")].count("\n") + 1
        self.assertEqual((1, [f"a.c:{line}: function bare has no kernel-doc comment"]),
                         self.check(source=source))

    def test_type_on_its_own_line(self):
        """The name is in the line behind the type, and the arguments in several lines."""
        source = SOURCE + "\nstruct known *\nbare(int value,\n     int other)\n{\n}\n"
        status, lines = self.check(source=source)
        self.assertEqual(1, status)
        self.assertIn("function bare has no kernel-doc comment", lines[0])

    def test_plain_comment(self):
        """An ordinary comment does not count, and code in a comment is no code."""
        source = SOURCE + ("\n/* bare() - says something; int other(void)\n{\n*/\n"
                           "void bare(void)\n{\n}\n")
        status, lines = self.check(source=source)
        self.assertEqual((1, 1), (status, len(lines)))
        self.assertIn("function bare ", lines[0])

    def test_struct_and_enum(self):
        """Types with a name need a comment, in headers and in sources."""
        status, lines = self.check(HEADER + "\nenum colour {\n\tRED,\n};\n",
                                   "struct shape {\n\tint corners;\n};\n" + SOURCE)
        self.assertEqual(1, status)
        self.assertEqual(["enum colour has no kernel-doc comment",
                          "struct shape has no kernel-doc comment"],
                         [line.split(": ", 1)[1] for line in lines])

    def test_variable(self):
        """One that others can see needs a comment with its name, at any of its declarations."""
        variables = ("const struct ops known_ops = {\n\t.a = 1,\n};\n",
                     "const struct group *groups[] = {\n\tNULL\n};\n", "unsigned int count;\n")
        hidden = ("static int kept;\nextern int elsewhere;\nstruct later;\ntypedef int number;\n"
                  "static const struct ops own = {\n};\n")
        self.assertEqual((0, []), self.check(source=SOURCE + hidden))
        for text, name in zip(variables, ("known_ops", "groups", "count")):
            source = SOURCE + hidden + text
            line = source[:source.index(text)].count("\n") + 1
            self.assertEqual((1, [f'a.c:{line}: variable {name} has no "name: " comment']),
                             self.check(source=source))
            self.assertEqual((0, []), self.check(HEADER + f"/*\n * {name}: what it is\n */\n",
                                                 source))
            self.assertEqual((0, []), self.check(source=f"/* {name}: what it is */\n" + source))

    def test_comment_about_another_kind(self):
        """The comment of a struct is not that of a function with the same name."""
        status, lines = self.check(source=SOURCE + "\nint known(void)\n{\n\treturn 0;\n}\n")
        self.assertEqual(1, status)
        self.assertIn("function known ", lines[0])

    def test_usage(self):
        """Without files it says how it is called."""
        done = subprocess.run([PROGRAM], capture_output=True, text=True, check=False)
        self.assertEqual(2, done.returncode)
        self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    unittest.main()
