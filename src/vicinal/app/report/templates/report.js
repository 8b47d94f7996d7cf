// The maps and the lists of neighbours. Text goes into the page as text only.
"use strict";
(() => {
  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const packed = (text, Kind) => new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const make = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();

  // ---- light and dark
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const repainted = [];
  const repaint = () => {
    at("theme").textContent = isDark() ? "Light" : "Dark";
    at("theme").setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
    repainted.forEach((paint) => paint());
  };
  at("theme").addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    repaint();
  });
  prefersDark.addEventListener("change", repaint);
  matchMedia("print").addEventListener("change", repaint);
  addEventListener("beforeprint", repaint);
  addEventListener("afterprint", repaint);

  // ---- pictures of how much each pixel contributes to a metric
  const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));
  const hexes = (text) => [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
  // Ten colours from low to high: of the theme for points, cividis for pictures.
  const cividis = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"].map(hexes);
  let scale = cividis;
  const sequential = (t, colours) => {
    const position = Math.min(Math.max(t, 0), 1) * (colours.length - 1);
    const low = Math.min(Math.floor(position), colours.length - 2);
    return mix(colours[low], colours[low + 1], position - low);
  };
  const signed = (t) => mix([236, 236, 233], t > 0 ? [196, 98, 0] : [0, 92, 150], Math.sqrt(Math.abs(t)));
  const painted = (canvas, colours) => {
    const context = canvas.getContext("2d");
    const image = context.createImageData(canvas.width, canvas.height);
    colours.forEach((rgb, i) => image.data.set([...rgb, 255], 4 * i));
    context.putImageData(image, 0, 0);
    return canvas;
  };
  document.querySelectorAll("canvas.heat").forEach((canvas) => {
    const { heat, signed: both } = canvas.dataset;
    painted(canvas, Array.from(packed(heat || both, Uint8Array), (v) => (heat ? sequential(v / 255, cividis) : signed((v - 128) / 127))));
  });
  repainted.push(() => { scale = Array.from({ length: 10 }, (_, i) => hexes(colour(`--n${i}`))); });

  // ---- commands to copy
  const copied = async (text) => {
    try { await navigator.clipboard.writeText(text); return true; } catch {
      // Without the right to the clipboard: the old way, from a field that is selected.
      const field = make("textarea", "away");
      field.value = text;
      document.body.append(field);
      field.select();
      const done = document.execCommand("copy");
      field.remove();
      return done;
    }
  };
  document.querySelectorAll(".copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copied(button.parentElement.querySelector("code").textContent);
      button.focus();
      button.textContent = done ? "Copied" : "Not copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  });

  if (!at("data")) { repaint(); return; }
  const data = JSON.parse(at("data").textContent);
  const { n, k, kind } = data;
  const numbers = packed(data.rows, Uint32Array);
  const codes = data.codes && packed(data.codes, Uint16Array);
  const grey = data.pixels && packed(data.pixels.grey, Uint8Array);
  const methods = data.methods.map((one) => ({
    name: one.name, aspect: one.aspect, xy: packed(one.xy, Float32Array), near: packed(one.near, Uint32Array),
    cells: one.cells && {
      at: packed(one.cells.at, Uint16Array), shade: packed(one.cells.shade, Uint8Array),
      codes: one.cells.codes && packed(one.cells.codes, Uint16Array), values: one.cells.values && packed(one.cells.values, Float32Array),
    },
  }));
  const neighbours = (method, i) => methods[method].near.subarray(i * k, i * k + k);

  // ---- colours and marks: eight colours, then the same with other shapes
  const shapes = ["circle", "triangle", "square", "diamond"];
  const shapeOf = (code) => shapes[Math.floor(code / 8) % 4];
  const outline = (shape, x, y, r) => ({
    triangle: [[x, y - 1.25 * r], [x + 1.15 * r, y + 0.85 * r], [x - 1.15 * r, y + 0.85 * r]],
    square: [[x - 0.9 * r, y - 0.9 * r], [x + 0.9 * r, y - 0.9 * r], [x + 0.9 * r, y + 0.9 * r], [x - 0.9 * r, y + 0.9 * r]],
    diamond: [[x, y - 1.3 * r], [x + 1.3 * r, y], [x, y + 1.3 * r], [x - 1.3 * r, y]],
  })[shape];
  // Where a number stands on the scale of colours: even steps between the five stops.
  const stand = (value) => {
    const { stops } = data;
    const j = Math.max(0, Math.min(3, stops.findIndex((_, i) => value <= stops[i + 1] || i === 3)));
    const width = stops[j + 1] - stops[j];
    return (j + (width > 0 ? (value - stops[j]) / width : 0)) / 4;
  };
  // As people read them: 25,580 and not 25580.0001.
  const readable = (value, digits = 6) => {
    const size = Math.abs(value);
    if (size >= 1e12 || (size > 0 && size < 1e-4)) return value.toPrecision(4);
    return value.toLocaleString("en-US", { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(size + 1))) });
  };
  let palette = [];
  const colourOf = (i) => (codes ? palette[codes[i] % 8] : `rgb(${sequential(stand(data.values[i]), scale)})`);
  const labelOf = (i) => (codes ? data.classes[codes[i]] : readable(data.values[i]));
  const nameOf = (i) => (data.names ? data.names[i] : "");

  // ---- the values of the rows, and which of them differ most between two
  const columns = (data.columns || []).map((one) => ({
    ...one, codes: packed(one.codes, Uint16Array), at: one.at && packed(one.at, Int16Array),
  }));
  const valueOf = (column, i) => column.values[column.codes[i]];
  // In standard deviations; between two values of a text, as between their features.
  const apart = ({ at: places, weights, codes: own }, i, j) => {
    if (places) return Math.abs(places[i] - places[j]) / 128;
    return own[i] === own[j] ? 0 : Math.hypot(weights[own[i]], weights[own[j]]);
  };
  const differing = (i, j, most = 3) => columns
    .filter((column) => valueOf(column, i) !== valueOf(column, j))
    .map((column) => ({ column, size: apart(column, i, j) }))
    .sort((a, b) => b.size - a.size)
    .slice(0, most)
    .map(({ column }) => column);
  const swatch = (i, code = codes && codes[i]) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 12 12");
    svg.setAttribute("class", "swatch");
    svg.setAttribute("aria-hidden", "true");
    const corners = codes && outline(shapeOf(code), 6, 6, 4.2);
    const mark = document.createElementNS(svg.namespaceURI, corners ? "polygon" : "circle");
    if (corners) mark.setAttribute("points", corners.join(" "));
    else for (const [name, value] of [["cx", 6], ["cy", 6], ["r", 4.6]]) mark.setAttribute(name, value);
    mark.setAttribute("fill", codes ? `var(--c${code % 8})` : colourOf(i));
    svg.append(mark);
    return svg;
  };
  const thumbnail = (i) => {
    const { height, width } = data.pixels;
    const canvas = make("canvas", "thumb");
    [canvas.width, canvas.height] = [width, height];
    return painted(canvas, Array.from(grey.subarray(i * height * width, (i + 1) * height * width), (v) => [v, v, v]));
  };

  // ---- what is chosen
  const state = { chosen: -1, hidden: new Set() };
  const seen = (i) => !codes || !state.hidden.has(codes[i]);
  const maps = [];
  const redraw = () => maps.forEach((map) => map.draw());
  const tip = at("tip");
  const pairOf = (className, name, value) => {
    const line = make("span", className);
    line.append(make("span", "", name), make("span", "", value));
    return line;
  };
  const showTip = (i, x, y) => {
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    if (grey) tip.append(thumbnail(i));
    tip.append(make("b", "", nameOf(i) || `row ${numbers[i]}`));
    if (nameOf(i)) tip.append(make("span", "aside", `row ${numbers[i]}`));
    tip.append(make("span", "", `${kind === "number" ? `${data.target} ` : ""}${labelOf(i)}`));
    columns.slice(0, 5).forEach((column) => tip.append(pairOf("value", column.name, valueOf(column, i))));
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
  };

  class PointMap {
    constructor(canvas) {
      this.canvas = canvas;
      this.method = Number(canvas.dataset.method);
      Object.assign(this, { xy: methods[this.method].xy, cells: methods[this.method].cells });
      // The panel is as high as the points need.
      canvas.style.aspectRatio = 1 / methods[this.method].aspect;
      this.furthest = this.xy.reduce((most, v) => Math.max(most, Math.abs(v - 0.5)), 0.5);
      this.pointers = new Map();
      this.focus = -1;
      this.reset();
      this.addListeners();
      new ResizeObserver(() => this.draw()).observe(canvas);
    }

    reset() { this.zoom = 1; this.middle = [0.5, 0.5]; }

    // A point to the canvas: the first view is as wide as the unit square.
    get size() { return 0.9 * this.canvas.clientWidth * this.zoom; }
    position(i) {
      return this.project(this.xy[2 * i], this.xy[2 * i + 1]);
    }
    project(x, y) {
      return [
        this.canvas.clientWidth / 2 + (x - this.middle[0]) * this.size,
        this.canvas.clientHeight / 2 - (y - this.middle[1]) * this.size,
      ];
    }

    zoomBy(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
      const before = this.size;
      this.zoom = Math.min(Math.max(this.zoom * factor, 0.4 / this.furthest), 200);
      // What is under the pointer stays there.
      const moved = 1 / before - 1 / this.size;
      this.middle[0] += (x - this.canvas.clientWidth / 2) * moved;
      this.middle[1] -= (y - this.canvas.clientHeight / 2) * moved;
      this.draw();
    }

    move(dx, dy) {
      this.middle[0] -= dx / this.size;
      this.middle[1] += dy / this.size;
      this.draw();
    }

    // Brings a point that lies outside the view to its middle.
    reveal(i) {
      const [x, y] = this.position(i);
      if (x < 0 || y < 0 || x > this.canvas.clientWidth || y > this.canvas.clientHeight) this.middle = [this.xy[2 * i], this.xy[2 * i + 1]];
    }

    nearest(x, y, within = 14) {
      let [best, least] = [-1, within * within];
      for (let i = 0; i < n; i++) {
        if (!seen(i)) continue;
        const [px, py] = this.position(i);
        const far = (px - x) ** 2 + (py - y) ** 2;
        if (far < least) [best, least] = [i, far];
      }
      return best;
    }

    // The nearest point in a quarter of the plane.
    towards(dx, dy) {
      if (this.focus < 0 || !seen(this.focus)) return state.chosen >= 0 && seen(state.chosen) ? state.chosen : this.nearest(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2, 1e6);
      const [x, y] = this.position(this.focus);
      let [best, least] = [this.focus, Infinity];
      for (let i = 0; i < n; i++) {
        if (i === this.focus || !seen(i)) continue;
        const [px, py] = this.position(i);
        const along = (px - x) * dx + (py - y) * dy;
        const across = Math.abs((px - x) * dy) + Math.abs((py - y) * dx);
        if (along > 0 && across <= along && along + across < least) [best, least] = [i, along + across];
      }
      return best;
    }

    draw() {
      const { canvas } = this;
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      if (!width) return;
      const ratio = Math.max(devicePixelRatio || 1, matchMedia("print").matches ? 2 : 1);
      [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.fillStyle = colour("--plot");
      pen.fillRect(0, 0, width, height);
      if (this.cells) this.shade(pen);
      const radius = Math.min(Math.max(50 / Math.sqrt(n), 2.1), 3.8) * Math.min(1 + Math.log10(Math.max(this.zoom, 1)), 2);
      const chosen = state.chosen >= 0 && seen(state.chosen) ? state.chosen : -1;
      const near = chosen < 0 ? [] : Array.from(neighbours(this.method, chosen)).filter(seen);
      let visible = 0;
      const edge = colour("--edge");
      pen.strokeStyle = edge;
      pen.lineWidth = 0.6;
      pen.globalAlpha = chosen < 0 ? 0.88 : 0.38;
      for (let i = 0; i < n; i++) {
        if (!seen(i)) continue;
        visible += 1;
        this.mark(pen, i, radius);
      }
      pen.globalAlpha = 1;
      if (chosen >= 0) {
        const [x, y] = this.position(chosen);
        pen.strokeStyle = colour("--faint");
        pen.lineWidth = 1;
        near.forEach((j) => { pen.beginPath(); pen.moveTo(x, y); pen.lineTo(...this.position(j)); pen.stroke(); });
        pen.strokeStyle = edge;
        near.forEach((j) => this.mark(pen, j, radius * 1.35));
        this.mark(pen, chosen, radius * 1.6);
        this.ring(pen, chosen, radius * 1.6 + 4, 2);
      }
      if (this.focus >= 0 && seen(this.focus) && document.activeElement === canvas) this.ring(pen, this.focus, radius + 6, 1);
      Object.assign(canvas.dataset, { visible, zoom: this.zoom.toFixed(3), focused: this.focus });
    }

    // The density of all rows, on a grid of 96 cells across the first view.
    shade(pen) {
      const { at: places, shade, codes: own, values } = this.cells;
      const side = this.size / 96;
      places.forEach((place, c) => {
        if (own && state.hidden.has(own[c])) return;
        const [x, y] = this.project((place % 96) / 96, (Math.floor(place / 96) + 1) / 96);
        if (x > this.canvas.clientWidth || y > this.canvas.clientHeight || x < -side || y < -side) return;
        pen.globalAlpha = 0.4 * shade[c] / 255;
        pen.fillStyle = own ? palette[own[c] % 8] : values ? `rgb(${sequential(stand(values[c]), scale)})` : palette[0];
        pen.fillRect(x, y, side, side);
      });
    }

    mark(pen, i, r) {
      const [x, y] = this.position(i);
      const corners = codes && outline(shapeOf(codes[i]), x, y, r);
      pen.fillStyle = colourOf(i);
      pen.beginPath();
      if (corners) { corners.forEach((corner, c) => (c ? pen.lineTo(...corner) : pen.moveTo(...corner))); pen.closePath(); }
      else pen.arc(x, y, r, 0, 2 * Math.PI);
      pen.fill();
      pen.stroke();
    }

    ring(pen, i, r, width) {
      pen.strokeStyle = colour("--ink");
      pen.lineWidth = width;
      pen.beginPath();
      pen.arc(...this.position(i), r, 0, 2 * Math.PI);
      pen.stroke();
    }

    where(event) {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left - this.canvas.clientLeft, event.clientY - box.top - this.canvas.clientTop];
    }

    addListeners() {
      const { canvas, pointers } = this;
      let travelled = 0;
      canvas.addEventListener("pointerdown", (event) => {
        canvas.setPointerCapture(event.pointerId);
        if (!pointers.size) travelled = 0;
        pointers.set(event.pointerId, this.where(event));
      });
      canvas.addEventListener("pointermove", (event) => {
        const [x, y] = this.where(event);
        const last = pointers.get(event.pointerId);
        if (!last) { showTip(this.nearest(x, y, 10), event.clientX, event.clientY); return; }
        travelled += Math.abs(x - last[0]) + Math.abs(y - last[1]);
        const other = [...pointers].find(([id]) => id !== event.pointerId);
        pointers.set(event.pointerId, [x, y]);
        if (other) {
          const [ox, oy] = other[1];
          const apart = (px, py) => Math.max(Math.hypot(px - ox, py - oy), 1);
          this.zoomBy(apart(x, y) / apart(...last), (x + ox) / 2, (y + oy) / 2);
        } else if (travelled > 4) {
          canvas.classList.add("moving");
          tip.hidden = true;
          this.move(x - last[0], y - last[1]);
        }
      });
      const lifted = (event) => {
        if (!pointers.delete(event.pointerId)) return;
        canvas.classList.remove("moving");
        const found = event.type === "pointerup" && travelled <= 4 && !pointers.size ? this.nearest(...this.where(event)) : -1;
        if (found >= 0) { this.focus = found; this.choose(found); }
      };
      canvas.addEventListener("pointerup", lifted);
      canvas.addEventListener("pointercancel", lifted);
      canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
      canvas.addEventListener("blur", () => { tip.hidden = true; this.draw(); });
      canvas.addEventListener("focus", () => this.draw());
      canvas.addEventListener("wheel", (event) => {
        // Scrolling past a map should scroll.
        if (document.activeElement !== canvas && !event.ctrlKey) return;
        event.preventDefault();
        this.zoomBy(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) / 300), ...this.where(event));
      }, { passive: false });
      canvas.addEventListener("keydown", (event) => this.key(event));
      canvas.parentElement.querySelectorAll("[data-zoom]").forEach((button) => button.addEventListener("click", () => {
        if (button.dataset.zoom === "reset") { this.reset(); this.draw(); } else this.zoomBy(button.dataset.zoom === "in" ? 1.5 : 1 / 1.5);
      }));
    }

    // The panel comes to the map that was asked.
    choose(i) {
      choose(i);
      place(this.canvas.closest("figure"));
    }

    key(event) {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (step) {
        this.focus = this.towards(...step);
        if (this.focus >= 0) {
          this.reveal(this.focus);
          const box = this.canvas.getBoundingClientRect();
          const [x, y] = this.position(this.focus);
          showTip(this.focus, box.left + x, box.top + y);
        }
        this.draw();
      } else if ((event.key === "Enter" || event.key === " ") && this.focus >= 0 && seen(this.focus)) this.choose(this.focus);
      else if (event.key === "Escape") { tip.hidden = true; choose(-1); }
      else if (event.key === "+" || event.key === "=") this.zoomBy(1.5);
      else if (event.key === "-") this.zoomBy(1 / 1.5);
      else if (event.key === "0") { this.reset(); this.draw(); } else return;
      event.preventDefault();
    }
  }

  // ---- where the neighbours are listed: beside the map that was asked, or below it
  const panel = at("panel");
  const isNarrow = matchMedia("(max-width: 62rem)");
  const place = (figure) => {
    const inMaps = figure.matches(".map");
    if (inMaps && isNarrow.matches) figure.after(panel);
    else at(inMaps ? "slot-maps" : "slot-top").append(panel);
    if (isNarrow.matches) at("chosen").scrollIntoView({ block: "nearest" });
  };
  // Turned to its side, a screen may have become wide.
  isNarrow.addEventListener("change", () => { if (panel.closest(".maps")) at("slot-maps").append(panel); });

  // ---- the neighbours of the chosen row
  const selects = [at("before"), at("after")];
  selects.forEach((select, side) => {
    methods.forEach((method, i) => select.add(new Option(method.name, i)));
    select.value = side ? data.after : data.before;
    select.addEventListener("change", () => list());
  });
  // A choice takes the button away that made it: the focus goes to what has come instead.
  const stay = (list) => list.querySelector("button")?.focus();
  const isSame = (i, j) => codes[i] === codes[j];
  const item = (i, j) => {
    const button = make("button");
    button.type = "button";
    button.dataset.index = j;
    button.append(grey ? thumbnail(j) : swatch(j));
    const what = make("span", "what");
    const first = make("span", "first");
    first.append(make("span", "", labelOf(j)), make("span", "aside", `row ${numbers[j]}`));
    what.append(first);
    if (nameOf(j)) what.append(make("span", "aside", nameOf(j)));
    differing(i, j).forEach((column) => what.append(pairOf("differs", column.name, `${valueOf(column, i)} → ${valueOf(column, j)}`)));
    button.append(what);
    if (codes) {
      const mark = make("span", `mark ${isSame(i, j) ? "same" : "other"}`, isSame(i, j) ? "✓" : "✗");
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", `${isSame(i, j) ? "same" : "another"} ${kind}`);
      button.append(mark);
    }
    button.addEventListener("click", () => {
      const list = button.closest("ol");
      choose(j);
      stay(list);
    });
    const line = make("li");
    line.append(button);
    return line;
  };
  const summary = (i, side) => {
    const near = Array.from(neighbours(Number(selects[side].value), i));
    if (codes) return `${near.filter((j) => isSame(i, j)).length} of ${k}`;
    const mean = near.reduce((sum, j) => sum + data.values[j], 0) / Math.max(k, 1);
    return readable(mean, 4);
  };
  const list = () => {
    const i = state.chosen;
    document.body.classList.toggle("unchosen", i < 0);
    document.body.dataset.chosen = i;
    [at("near-before"), at("near-after")].forEach((list, side) => {
      list.replaceChildren(...(i < 0 ? [] : Array.from(neighbours(Number(selects[side].value), i), (j) => item(i, j))));
    });
    if (i < 0) return;
    const words = make("div");
    const label = make("p", "label");
    label.append(swatch(i), make("span", "", labelOf(i)));
    words.append(make("p", "row", `${nameOf(i) || "Row"}${nameOf(i) ? ", row" : ""} ${numbers[i]}`), label, make("p", "sum", codes
      ? `Nearest rows of its ${kind}: ${summary(i, 0)} before, ${summary(i, 1)} after.`
      : `Mean ${data.target} of its nearest rows: ${summary(i, 0)} before, ${summary(i, 1)} after.`));
    const values = make("div", "values");
    columns.slice(0, 6).forEach((column) => values.append(pairOf("value", column.name, valueOf(column, i))));
    if (columns.length) words.append(values);
    at("chosen").replaceChildren(...(grey ? [thumbnail(i)] : []), words);
  };
  const hint = [...at("chosen").childNodes];
  const choose = (i) => {
    state.chosen = i;
    if (i < 0) at("chosen").replaceChildren(...hint);
    list();
    redraw();
  };
  // How much better (or, for numbers, how different) the second list is.
  const change = (i) => {
    const [first, second] = selects.map((select) => neighbours(Number(select.value), i));
    if (!codes) return -Array.from(second).filter((j) => first.includes(j)).length;
    const own = (near) => Array.from(near).filter((j) => isSame(i, j)).length;
    return own(second) - own(first);
  };
  at("surprise").addEventListener("click", () => {
    let best = 0;
    for (let i = 1; i < n; i++) if (change(i) > change(best)) best = i;
    choose(best);
    stay(at("near-after"));
  });

  // ---- which classes are seen
  if (codes) {
    const groups = [...document.querySelectorAll(".classes")];
    const refresh = () => {
      document.querySelectorAll(".classes button").forEach((button) => {
        button.setAttribute("aria-pressed", String(!state.hidden.has(Number(button.dataset.code))));
      });
      redraw();
    };
    groups.forEach((group) => group.append(...data.classes.map((name, code) => {
      const button = make("button");
      button.type = "button";
      button.dataset.code = code;
      button.append(swatch(0, code), make("span", "", name), make("span", "count", data.counts[code]));
      button.addEventListener("click", () => {
        if (!state.hidden.delete(code)) state.hidden.add(code);
        refresh();
      });
      return button;
    })));
    at("show-all").addEventListener("click", () => { state.hidden.clear(); refresh(); });
    at("hide-all").addEventListener("click", () => { data.classes.forEach((_, code) => state.hidden.add(code)); refresh(); });
    refresh();
  }

  document.querySelectorAll(".map canvas, .big-map canvas").forEach((canvas) => maps.push(new PointMap(canvas)));
  const mapOf = (method) => maps.find((map) => map.method === method && map.canvas.closest(".map"));
  repainted.push(() => { palette = Array.from({ length: 8 }, (_, i) => colour(`--c${i}`)); redraw(); if (!codes) list(); });
  repaint();
  list();
  // For scripts that drive the page: where a row is drawn, in pixels of its canvas.
  Object.defineProperty(window, "vicinal", { value: Object.freeze({ position: (method, i) => mapOf(method).position(i), choose }) });
})();
