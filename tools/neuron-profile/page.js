// SPDX-License-Identifier: MIT
// The timeline of a device profile. Times are in units of profile.unit_ns from the start.
"use strict";

const profile = JSON.parse(document.getElementById("profile").textContent);
const COUNT = profile.events, NONE = 0xffffffff;
const LANE = 30, WAIT_ALPHA = 0.55, NAMES = 150, AXIS = 26, MAX_ARROWS = 400;

// --- The columns ---

function bytesOf(text) {
  if (Uint8Array.fromBase64)
    return Uint8Array.fromBase64(text);
  const letters = atob(text), bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++)
    bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// html.c takes numbers apart: the low bytes of all of them, then the next ones.
async function unpack(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const numbers = new Uint32Array(COUNT);
  if (bytes.length % COUNT || bytes.length > 4 * COUNT)
    throw new Error("a column has another size than the others");
  for (let shift = 0, at = 0; at < bytes.length; shift += 8)
    for (let i = 0; i < COUNT; i++)
      numbers[i] |= bytes[at++] << shift;
  return numbers;
}

// What makes the numbers of a column small.
const undo = {
  begin: numbers => {
    for (let i = 1; i < COUNT; i++)
      numbers[i] += numbers[i - 1];
  },
  cause: numbers => {
    for (let i = 0; i < COUNT; i++)
      numbers[i] = numbers[i] ? i - ((numbers[i] >>> 1) ^ -(numbers[i] & 1)) : NONE;
  },
};

const column = {};
async function readColumn(id) {
  const node = document.getElementById("column-" + id);
  column[id] = await unpack(bytesOf(node.textContent));
  node.remove();
  if (undo[id])
    undo[id](column[id]);
}

async function readColumns(...ids) {
  if (!globalThis.DecompressionStream)
    throw new Error("this browser lacks DecompressionStream, which Chrome has since version 80, " +
                    "Firefox since 113, Safari since 16.4");
  await Promise.all(ids.map(readColumn));
}

const endOf = i => column.begin[i] + column.length[i];
const whyOf = i => column.more[i] & 0xff;

// For each lane: the latest end so far, time in which it was busy so far, and whether an event
// begins before the one before it has ended (a load in the background of a product).
const reach = new Float64Array(COUNT), busy = new Float64Array(COUNT);
const beside = new Uint8Array(COUNT);
let last = 1;
function sumLanes() {
  for (const lane of profile.lanes) {
    let until = 0, sum = 0;
    for (let i = lane.first; i < lane.first + lane.count; i++) {
      const end = endOf(i);
      beside[i] = column.begin[i] < until ? 1 : 0;
      sum += Math.max(0, end - Math.max(until, column.begin[i]));
      until = Math.max(until, end);
      reach[i] = until;
      busy[i] = sum;
      lane.beside |= beside[i];
    }
    last = Math.max(last, until);
  }
}

function laneOf(event) {
  let low = 0, high = profile.lanes.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (profile.lanes[middle].first <= event)
      low = middle;
    else
      high = middle;
  }
  return low;
}

// The first event of a lane that ends behind a time, and the first one that begins at it or later.
function firstAfter(lane, time) {
  let low = lane.first, high = lane.first + lane.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (reach[middle] > time)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

function firstFrom(lane, time) {
  let low = lane.first, high = lane.first + lane.count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (column.begin[middle] < time)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// How long a lane was busy before a time.
function busyUntil(lane, time) {
  const i = firstAfter(lane, time);
  const before = i > lane.first ? busy[i - 1] : 0;
  if (i === lane.first + lane.count)
    return before;
  return before + Math.max(0, busy[i] - before - (reach[i] - time));
}

// --- State ---

const state = {
  from: 0, to: 1, top: 0, selected: -1, hovered: -1, arrows: true, path: false,
  hits: null, hitNames: null, hitLines: null, hit: -1, file: null, line: -1,
};
const canvas = document.getElementById("canvas"), draw = canvas.getContext("2d");
const element = id => document.getElementById(id);
let width = 1, height = 1, colour = {}, planned = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const key of ["back", "panel", "line", "text", "weak", "mark", "pick", "hit", "wait", "path",
                     "k0", "k1", "k2", "k3", "k4", "k5"])
    colour[key] = style.getPropertyValue("--" + key).trim();
}

const kindColour = lane => colour["k" + lane.kind];
const xOf = time => NAMES + (time - state.from) / (state.to - state.from) * (width - NAMES);
const timeAt = x => state.from + (x - NAMES) / (width - NAMES) * (state.to - state.from);
const yOf = lane => AXIS + lane * LANE - state.top;

function formatTime(time, digits = 3) {
  const ns = time * profile.unit_ns;
  if (ns >= 1e6)
    return (ns / 1e6).toFixed(digits + 1) + " ms";
  return ns >= 1000 ? (ns / 1000).toFixed(digits) + " us" : Math.round(ns) + " ns";
}

// --- Drawing ---

// Where the axis has a number, and the distance of two.
function ticks() {
  const rough = (state.to - state.from) / ((width - NAMES) / 110);
  const power = 10 ** Math.floor(Math.log10(rough)), list = [];
  const step = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
  for (let t = Math.ceil(state.from / step) * step; t <= state.to; t += step)
    list.push(t);
  return { list, step };
}

function drawGrid() {
  draw.strokeStyle = colour.line;
  for (const t of ticks().list) {
    const x = Math.round(xOf(t)) + 0.5;
    draw.beginPath();
    draw.moveTo(x, AXIS - 6);
    draw.lineTo(x, height);
    draw.stroke();
  }
}

function drawAxis() {
  const { list, step } = ticks();
  draw.fillStyle = colour.panel;
  draw.fillRect(0, 0, width, AXIS);
  draw.fillStyle = colour.weak;
  draw.textAlign = "left";
  for (const t of list)
    draw.fillText(formatTime(t, step * profile.unit_ns < 1000 ? 3 : 1), xOf(t) + 3, AXIS - 9);
}

// Too many events for single rectangles: how busy the lane was in each pixel.
function drawDense(lane, y) {
  let before = busyUntil(lane, timeAt(NAMES));
  draw.fillStyle = kindColour(lane);
  for (let x = NAMES; x < width; x++) {
    const now = busyUntil(lane, timeAt(x + 1));
    const part = (now - before) / (timeAt(x + 1) - timeAt(x));
    if (part > 0) {
      draw.globalAlpha = 0.25 + 0.75 * Math.min(1, part);
      draw.fillRect(x, y + 4, 1, LANE - 8);
    }
    before = now;
  }
  draw.globalAlpha = 1;
}

function isHit(i) {
  return state.hits && (state.hitNames[column.name[i]] || state.hitLines[column.line[i]]);
}

function drawEvent(lane, i, y) {
  const x = Math.max(NAMES, xOf(column.begin[i]));
  const wide = Math.max(1, Math.min(width, xOf(endOf(i))) - x);
  const tall = lane.beside ? (LANE - 8) / 2 : LANE - 8;
  const top = y + 4 + (lane.beside && beside[i] ? tall : 0);
  const dim = state.path && !column.critical[i] || state.hits && !isHit(i);

  if (column.wait[i]) {
    const from = Math.max(NAMES, xOf(column.begin[i] - column.wait[i]));
    draw.globalAlpha = WAIT_ALPHA;
    draw.fillStyle = colour.wait;
    draw.fillRect(from, y + LANE / 2 - 2, x - from, 4);
  }
  draw.globalAlpha = dim ? 0.25 : 1;
  draw.fillStyle = state.path && column.critical[i] ? colour.path : kindColour(lane);
  draw.fillRect(x, top, wide > 2 ? wide - 0.5 : wide, tall);
  draw.globalAlpha = 1;
  if (isHit(i) || i === state.selected || i === state.hovered) {
    draw.strokeStyle = i === state.selected ? colour.mark : colour.hit;
    draw.lineWidth = i === state.selected ? 2 : 1;
    draw.strokeRect(x, top, wide, tall);
    draw.lineWidth = 1;
  }
  if (wide > 40 && tall > 12) {
    draw.save();
    draw.beginPath();
    draw.rect(x, top, wide - 3, tall);
    draw.clip();
    draw.fillStyle = dim ? colour.text : "#ffffff";
    draw.fillText(profile.names[column.name[i]], x + 4, top + tall / 2 + 4);
    draw.restore();
  }
}

// Hits, or what is on the critical path, in a lane with too many events: a mark in each pixel.
function drawMarks(lane, y, first, end) {
  let pixel = -1;
  draw.fillStyle = state.hits ? colour.hit : colour.path;
  for (let i = first; i < end; i++) {
    const x = xOf(column.begin[i]) | 0;
    if (x === pixel || x < NAMES)
      continue;
    if (state.hits ? !isHit(i) : !column.critical[i])
      continue;
    pixel = x;
    draw.fillRect(x, y + 1, Math.max(1, xOf(endOf(i)) - x), 3);
  }
}

function drawLane(index) {
  const lane = profile.lanes[index], y = yOf(index);
  if (y > height || y + LANE < AXIS)
    return;
  draw.strokeStyle = colour.line;
  draw.beginPath();
  draw.moveTo(0, y + LANE - 0.5);
  draw.lineTo(width, y + LANE - 0.5);
  draw.stroke();
  const first = firstAfter(lane, state.from), end = firstFrom(lane, state.to);
  if (end - first > (width - NAMES) * 2) {
    drawDense(lane, y);
    if (state.hits || state.path)
      drawMarks(lane, y, first, end);
    return;
  }
  for (let i = first; i < end; i++)
    drawEvent(lane, i, y);
}

function drawNames() {
  draw.fillStyle = colour.back;
  draw.fillRect(0, AXIS, NAMES, height);
  draw.fillStyle = colour.panel;
  draw.fillRect(0, 0, NAMES, AXIS);
  draw.textAlign = "left";
  profile.lanes.forEach((lane, index) => {
    const y = yOf(index), total = busy[lane.first + lane.count - 1];
    if (y > height || y + LANE < AXIS)
      return;
    draw.save();
    draw.beginPath();
    draw.rect(0, AXIS, NAMES - 4, height);
    draw.clip();
    draw.fillStyle = kindColour(lane);
    draw.fillRect(6, y + 8, 5, LANE - 16);
    draw.fillStyle = colour.text;
    draw.fillText(lane.name, 17, y + 13);
    draw.fillStyle = colour.weak;
    const part = 100 * total * profile.unit_ns / Math.max(1, profile.device_ns);
    draw.fillText(part.toFixed(1) + " % busy", 17, y + 25);
    draw.restore();
  });
  draw.strokeStyle = colour.line;
  draw.beginPath();
  draw.moveTo(NAMES - 0.5, 0);
  draw.lineTo(NAMES - 0.5, height);
  draw.stroke();
}

function drawArrow(cause, event, strong) {
  const from = yOf(laneOf(cause)) + LANE / 2, to = yOf(laneOf(event)) + LANE / 2;
  const x0 = xOf(Math.min(endOf(cause), column.begin[event])), x1 = xOf(column.begin[event]);
  const bend = Math.max(12, Math.abs(x1 - x0) / 2);
  if (Math.max(x0, x1) < NAMES || Math.min(x0, x1) > width)
    return;
  draw.save();
  draw.beginPath();
  draw.rect(NAMES, AXIS, width, height);
  draw.clip();
  draw.globalAlpha = strong ? 1 : 0.5;
  draw.strokeStyle = draw.fillStyle = colour.mark;
  draw.lineWidth = strong ? 2 : 1;
  draw.beginPath();
  draw.moveTo(x0, from);
  draw.bezierCurveTo(x0 + bend, from, x1 - bend, to, x1, to);
  draw.stroke();
  draw.beginPath();
  draw.moveTo(x1, to);
  draw.lineTo(x1 - 7, to - 4);
  draw.lineTo(x1 - 7, to + 4);
  draw.fill();
  draw.restore();
}

// The arrows of the selected event always, the others as long as they can be told apart.
function drawArrows() {
  const found = [];
  // The first picture comes before the causes.
  if (!column.cause)
    return;
  if (state.arrows) {
    for (const lane of profile.lanes) {
      const first = firstAfter(lane, state.from), end = firstFrom(lane, state.to);
      if (end - first > (width - NAMES) * 2)
        continue;
      for (let i = first; i < end && found.length <= MAX_ARROWS; i++)
        if (column.cause[i] !== NONE)
          found.push(i);
    }
    if (found.length <= MAX_ARROWS)
      found.forEach(i => drawArrow(column.cause[i], i, false));
  }
  if (state.selected < 0)
    return;
  if (column.cause[state.selected] !== NONE)
    drawArrow(column.cause[state.selected], state.selected, true);
  for (const i of effectsOf(state.selected).slice(0, MAX_ARROWS))
    drawArrow(state.selected, i, true);
}

function paint() {
  planned = false;
  const scale = window.devicePixelRatio || 1;
  width = Math.max(NAMES + 50, canvas.clientWidth);
  height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  draw.setTransform(scale, 0, 0, scale, 0, 0);
  draw.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  draw.fillStyle = colour.back;
  draw.fillRect(0, 0, width, height);
  drawGrid();
  profile.lanes.forEach((lane, index) => drawLane(index));
  drawArrows();
  drawAxis();
  drawNames();
  element("range").textContent =
    `${formatTime(state.from)} to ${formatTime(state.to)} (${formatTime(state.to - state.from)})`;
}

function repaint() {
  if (!planned)
    requestAnimationFrame(paint);
  planned = true;
}

// --- Zoom and pan ---

function show(from, to) {
  const most = last * 1.02, least = Math.min(most, 20 / profile.unit_ns);
  let span = Math.min(most, Math.max(least, to - from));
  const middle = (from + to) / 2;
  state.from = Math.max(-last * 0.01, Math.min(last * 1.01 - span, middle - span / 2));
  state.to = state.from + span;
  repaint();
}

function zoom(factor, x = (width + NAMES) / 2) {
  const time = timeAt(Math.max(NAMES, x));
  show(time - (time - state.from) * factor, time + (state.to - time) * factor);
}

function pan(part) {
  const by = (state.to - state.from) * part;
  show(state.from + by, state.to + by);
}

function scroll(by) {
  const most = Math.max(0, profile.lanes.length * LANE + AXIS - height);
  state.top = Math.max(0, Math.min(most, state.top + by));
  repaint();
}

function goTo(event) {
  const span = Math.max(column.length[event] * 12, Math.min(state.to - state.from, last / 50));
  const middle = (column.begin[event] + endOf(event)) / 2;
  show(middle - span / 2, middle + span / 2);
  const y = yOf(laneOf(event));
  if (y < AXIS || y + LANE > height)
    scroll(y - height / 2);
}

// --- What is selected ---

// Events that waited for this one, in this profile; found by looking at all causes.
const effects = { of: -1, list: [] };
function effectsOf(event) {
  if (effects.of !== event) {
    effects.of = event;
    effects.list = [];
    for (let i = column.cause.indexOf(event); i >= 0; i = column.cause.indexOf(event, i + 1))
      effects.list.push(i);
  }
  return effects.list;
}

function eventAt(x, y) {
  const index = Math.floor((y - AXIS + state.top) / LANE), lane = profile.lanes[index];
  if (!lane || x < NAMES || y < AXIS)
    return -1;
  const slack = (state.to - state.from) / (width - NAMES) * 1.5, time = timeAt(x);
  const lower = lane.beside && (y - yOf(index)) > LANE / 2 ? 1 : 0;
  let best = -1;
  for (let i = firstAfter(lane, time - slack); i < lane.first + lane.count; i++) {
    if (column.begin[i] > time + slack)
      break;
    if (endOf(i) + slack < time || lane.beside && beside[i] !== lower)
      continue;
    best = i;
    if (column.begin[i] <= time && time < endOf(i))
      break;
  }
  return best;
}

function row(list, name, value, link) {
  const dt = document.createElement("dt"), dd = document.createElement("dd");
  dt.textContent = name;
  if (link) {
    const a = document.createElement("a");
    a.textContent = value;
    a.onclick = link;
    dd.append(a);
  } else if (name === "what") {
    const code = document.createElement("code");
    code.textContent = value;
    dd.append(code);
  } else {
    dd.textContent = value;
  }
  list.append(dt, dd);
}

const describe = i => `${profile.lanes[laneOf(i)].name}, ${profile.lines[column.line[i]].name}`;

function showDetail() {
  const box = element("detail"), i = state.selected;
  box.textContent = "";
  if (i < 0) {
    const text = document.createElement("pre");
    text.textContent = profile.summary;
    box.append(text);
    return;
  }
  const list = document.createElement("dl"), line = profile.lines[column.line[i]];
  row(list, "what", profile.names[column.name[i]]);
  row(list, "where", describe(i), () => selectLine(column.line[i], true));
  row(list, "begin", formatTime(column.begin[i]));
  row(list, "takes", formatTime(column.length[i]));
  if (column.wait[i])
    row(list, "waited", `${formatTime(column.wait[i])} for: ${profile.why[whyOf(i)]}`);
  if (column.cause[i] !== NONE)
    row(list, "ended by", describe(column.cause[i]), () => select(column.cause[i], true));
  const after = effectsOf(i);
  for (const other of after.slice(0, 8))
    row(list, "let go on", describe(other), () => select(other, true));
  if (after.length > 8)
    row(list, "", `and ${after.length - 8} more`);
  if (column.critical[i])
    row(list, "critical path", formatTime(column.critical[i]));
  if (column.more[i] & 0x100)
    row(list, "inexact", "its times depend on how fast the host was");
  if (line.bytes)
    row(list, "its line", `moved ${line.bytes.toLocaleString("en")} bytes in all`);
  if (line.flops)
    row(list, "its line", `computed ${line.flops.toLocaleString("en")} FLOP in all`);
  box.append(list);
}

function select(event, go) {
  state.selected = event;
  if (event >= 0) {
    if (go)
      goTo(event);
    selectLine(column.line[event], false);
  }
  showDetail();
  repaint();
}

// --- The source ---

function fileNames() {
  const names = Object.keys(profile.files);
  if (profile.lines.some(line => !line.file))
    names.push("");
  return names;
}

// What is shown of a file: its text with costs, or the lines that are known.
function sourceRows(file) {
  const known = new Map();
  profile.lines.forEach((line, index) => {
    if (line.file === file)
      known.set(file && profile.files[file] !== null ? line.line : line.name, index);
  });
  const text = file ? profile.files[file] : null;
  if (text === null)
    return [...known].map(([name, index]) => ({ number: "", text: name, index }));
  return text.split("\n").map((part, at) => ({
    number: at + 1, text: part, index: known.has(at + 1) ? known.get(at + 1) : -1,
  }));
}

function cell(tr, text, kind) {
  const td = tr.insertCell();
  td.textContent = text;
  td.className = kind;
  return td;
}

function showFile(file) {
  const box = element("source"), table = document.createElement("table");
  const head = table.createTHead().insertRow();
  state.file = file;
  for (const name of ["critical", "busy", "waited", "", file ? "source" : "instruction"]) {
    const th = document.createElement("th");
    th.textContent = name;
    head.append(th);
  }
  const body = table.createTBody();
  for (const { number, text, index } of sourceRows(file)) {
    const tr = body.insertRow(), line = profile.lines[index];
    const time = value => line && value ? formatTime(value / profile.unit_ns, 1) : "";
    const critical = cell(tr, time(line && line.critical), "n c");
    cell(tr, time(line && line.busy), "n");
    cell(tr, time(line && line.wait), "n");
    cell(tr, number, "n");
    cell(tr, text, "");
    if (!line)
      continue;
    critical.style.setProperty("--part",
                               (100 * line.critical / Math.max(1, profile.device_ns)) + "%");
    tr.className = "cost";
    tr.dataset.index = index;
    tr.onclick = () => selectLine(index, true);
  }
  box.replaceChildren(table);
}

function showFiles() {
  const names = fileNames(), choice = document.createElement("select");
  for (const name of names) {
    const option = document.createElement("option");
    option.value = name;
    option.textContent = name || "instructions without a line";
    choice.append(option);
  }
  choice.onchange = () => showFile(choice.value);
  element("files").replaceChildren(choice);
  showFile(names[0]);
}

// Highlight a line; its events become the hits if that is asked for.
function selectLine(index, find) {
  const file = profile.lines[index].file;
  if (file !== state.file) {
    element("files").firstChild.value = file;
    showFile(file);
  }
  for (const tr of element("source").querySelectorAll("tr.on"))
    tr.classList.remove("on");
  const tr = element("source").querySelector(`tr[data-index="${index}"]`);
  if (tr) {
    tr.classList.add("on");
    tr.scrollIntoView({ block: "nearest" });
  }
  state.line = index;
  if (find) {
    element("search").value = profile.lines[index].name;
    search(profile.lines[index].name, true);
  }
}

// --- Search ---

function search(text, wholeLine) {
  const wanted = text.trim().toLowerCase();
  state.hits = null;
  state.hit = -1;
  if (wanted) {
    const fits = name => wholeLine ? name.toLowerCase() === wanted :
                                     name.toLowerCase().includes(wanted);
    state.hitNames = profile.names.map(name => !wholeLine && fits(name));
    state.hitLines = profile.lines.map(line => fits(line.name));
    state.hits = [];
    for (let i = 0; i < COUNT; i++)
      if (state.hitNames[column.name[i]] || state.hitLines[column.line[i]])
        state.hits.push(i);
    state.hits.sort((a, b) => column.begin[a] - column.begin[b]);
  }
  element("hits").textContent = state.hits ? state.hits.length.toLocaleString("en") + " events" : "";
  repaint();
}

function nextHit(step) {
  if (!state.hits || !state.hits.length)
    return;
  state.hit = (state.hit + step + state.hits.length) % state.hits.length;
  element("hits").textContent = `${state.hit + 1} of ${state.hits.length}`;
  select(state.hits[state.hit], true);
}

// --- What the user does ---

function toggle(key) {
  state[key] = !state[key];
  element(key).setAttribute("aria-pressed", state[key]);
  repaint();
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColours();
  repaint();
}

function startDrag(down) {
  const start = { x: down.clientX, y: down.clientY, from: state.from, to: state.to, top: state.top };
  let moved = false;
  canvas.setPointerCapture(down.pointerId);
  canvas.onpointermove = move => {
    const dx = move.clientX - start.x, dy = move.clientY - start.y;
    moved ||= Math.abs(dx) + Math.abs(dy) > 4;
    if (!moved)
      return;
    const by = dx / (width - NAMES) * (start.to - start.from);
    show(start.from - by, start.to - by);
    scroll(start.top - dy - state.top);
  };
  canvas.onpointerup = up => {
    canvas.onpointermove = hover;
    canvas.onpointerup = null;
    if (!moved)
      select(eventAt(up.offsetX, up.offsetY), false);
  };
}

function hover(move) {
  const event = eventAt(move.offsetX, move.offsetY);
  if (event === state.hovered)
    return;
  state.hovered = event;
  canvas.title = event < 0 ? "" : `${profile.names[column.name[event]]}\n${describe(event)}, ` +
                                  formatTime(column.length[event]);
  repaint();
}

const KEYS = {
  "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "f": () => show(0, last),
  "ArrowLeft": () => pan(-0.2), "ArrowRight": () => pan(0.2), "ArrowUp": () => scroll(-LANE),
  "ArrowDown": () => scroll(LANE), "n": () => nextHit(1), "N": () => nextHit(-1),
  "a": () => toggle("arrows"), "c": () => toggle("path"), "d": () => changeTheme(),
  "/": () => element("search").focus(), "Escape": () => select(-1, false),
};

function changeTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function listen() {
  canvas.onpointerdown = startDrag;
  canvas.onpointermove = hover;
  canvas.ondblclick = () => state.selected >= 0 && goTo(state.selected);
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
      pan((event.deltaX || event.deltaY) / 800);
    else if (event.offsetX < NAMES)
      scroll(event.deltaY / 3);
    else
      zoom(1.0015 ** event.deltaY, event.offsetX);
  }, { passive: false });
  document.onkeydown = event => {
    if (event.target === element("search")) {
      if (event.key === "Enter")
        nextHit(event.shiftKey ? -1 : 1);
      else if (event.key === "Escape")
        canvas.focus();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key] ||
        event.target.tagName === "SELECT")
      return;
    event.preventDefault();
    KEYS[event.key]();
  };
  element("search").oninput = event => search(event.target.value, false);
  for (const [id, key] of [["previous", "N"], ["next", "n"], ["arrows", "a"], ["path", "c"],
                           ["out", "-"], ["in", "+"], ["fit", "f"], ["theme", "d"]])
    element(id).onclick = KEYS[key];
  new ResizeObserver(repaint).observe(canvas);
}

// A place can be named behind the address: #search=matmul&hit=1&from=0&to=500&path&theme=dark;
// times are in ns.
const address = () => new URLSearchParams(location.hash.slice(1));

function themeOf(wish) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return wish.get("theme") || (dark ? "dark" : "light");
}

function readAddress() {
  const wish = address();
  if (wish.has("path"))
    toggle("path");
  if (wish.has("search")) {
    element("search").value = wish.get("search");
    search(wish.get("search"), false);
    for (let i = 0; i < Number(wish.get("hit") || 0); i++)
      nextHit(1);
  }
  if (wish.has("from") && wish.has("to"))
    show(Number(wish.get("from")) / profile.unit_ns, Number(wish.get("to")) / profile.unit_ns);
}

async function start() {
  document.title = element("title").textContent = `${profile.model}, ${profile.chip}`;
  // What the first picture needs; the others take as long, and nobody can do anything before.
  await readColumns("begin", "length", "wait", "name");
  sumLanes();
  state.to = last;
  showFiles();
  showDetail();
  setTheme(themeOf(address()));
  paint();
  // For tests: how long it took from the address to the first picture, and until all works.
  document.documentElement.dataset.painted = Math.round(performance.now());
  await readColumns("critical", "cause", "line", "more");
  listen();
  readAddress();
  paint();
  document.documentElement.dataset.ready = Math.round(performance.now());
  document.documentElement.dataset.events = COUNT;
}

start().catch(error => {
  element("detail").textContent = `The profile cannot be shown: ${error.message}.`;
});
