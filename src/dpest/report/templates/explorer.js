// Moves an ε and a δ over what was computed, and draws where they stand. No library: the charts are
// SVG that is already there; this script only adds marks to them, by the scale each one carries.
"use strict";
(function () {
  const SVG = "http://www.w3.org/2000/svg";
  const ROUNDING = 1e-9;

  const number = (value) => (value === "inf" ? Infinity : value);

  // Four digits, as Python's format "4g" writes them.
  function shown(value) {
    if (!Number.isFinite(value)) return "∞";
    if (value === 0) return "0";
    const power = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(4)))));
    if (power < -4 || power > 3) {
      const [digits, exponent] = value.toExponential(3).split("e");
      const sign = exponent[0] === "-" ? "-" : "+";
      const size = exponent.replace(/[+-]/, "").padStart(2, "0");
      return String(Number(digits)) + "e" + sign + size;
    }
    return String(Number(value.toPrecision(4)));
  }

  function certainty(epsilon) {
    const share = 1 / (1 + Math.exp(-epsilon));
    if (share >= 0.99999) return "more than 99.999 %";
    const digits = share < 0.985 ? 0 : share < 0.9985 ? 1 : 3;
    return (100 * share).toFixed(digits) + " %";
  }

  function answer(data, i, j) {
    const epsilon = data.epsilons[i], delta = data.deltas[j];
    if (data.leastEpsilon.length && epsilon < number(data.leastEpsilon[j]) * (1 - ROUNDING)) {
      return "refuted by this pair";
    }
    if (data.refuted && delta <= data.refuted[1] && epsilon < number(data.refuted[0]) * (1 - ROUNDING)) {
      return "refuted by the lower bound (" + data.standing + ")";
    }
    if (data.covered && delta >= data.covered[1] && epsilon >= data.covered[0] * (1 - ROUNDING)) {
      return "covered by the upper bound, for all inputs";
    }
    return "not refuted here, and no upper bound covers it";
  }

  function deltaAt(data, i) {
    const needed = number(data.leastEpsilon[0]);
    if (data.leastDelta[i] === 0 && data.epsilons[i] < needed * (1 - ROUNDING)) {
      return "more than 0, less than any double";
    }
    return shown(data.leastDelta[i]);
  }

  class Chart {
    constructor(svg) {
      this.svg = svg;
      this.kind = svg.dataset.kind;
      [this.x0, this.x1, this.y0, this.y1] = svg.dataset.ends.split(" ").map(Number);
      [this.left, this.right, this.bottom, this.top] = svg.dataset.box.split(" ").map(Number);
    }
    x(value) {
      const share = Math.min(Math.max((value - this.x0) / (this.x1 - this.x0), 0), 1);
      return this.left + share * (this.right - this.left);
    }
    y(value) {
      const share = Math.min(Math.max((value - this.y0) / (this.y1 - this.y0), 0), 1);
      return this.bottom + share * (this.top - this.bottom);
    }
    clear() {
      this.svg.querySelector(".shades").replaceChildren();
      this.svg.querySelector(".marks").replaceChildren();
    }
    add(group, name, attributes) {
      const part = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
      this.svg.querySelector("." + group).append(part);
    }
    upright(value) {
      if (value < this.x0 || value > this.x1) return;
      const x = this.x(value);
      this.add("marks", "line", { class: "cursor", x1: x, x2: x, y1: this.top, y2: this.bottom });
    }
    shade(x, width) {
      this.add("shades", "rect",
        { class: "beyond", x: x, width: width, y: this.top, height: this.bottom - this.top });
    }
  }

  // Whether one of the two inputs makes it more than e^ε times as likely as the other.
  function beyond(p, q, epsilon) {
    const factor = Math.exp(epsilon) * (1 + ROUNDING);
    return p > factor * q || q > factor * p;
  }

  const painters = {
    profile(chart, data, i) {
      chart.upright(data.epsilons[i]);
      if (data.leastDelta.length) {
        chart.add("marks", "circle",
          { class: "dot", cx: chart.x(data.epsilons[i]), cy: chart.y(data.leastDelta[i]), r: 5 });
      }
    },
    loss(chart, data, i) {
      chart.upright(data.epsilons[i]);
      chart.upright(-data.epsilons[i]);
    },
    tradeoff(chart, data, i, j) {
      const up = Math.exp(Math.min(data.epsilons[i], 700)), down = Math.exp(-data.epsilons[i]);
      const rest = 1 - data.deltas[j];
      const corner = Math.min(1, rest / (1 + up));
      const points = [0, corner, Math.min(1, rest), 1].map((a) => {
        const miss = Math.max(0, rest - up * a, down * (rest - a));
        return chart.x(a).toFixed(1) + "," + chart.y(miss).toFixed(1);
      });
      chart.add("marks", "polyline", { class: "cursor", points: points.join(" ") });
    },
    outputs(chart, data, i) {
      if (!data.outputs) return;
      const slot = (chart.right - chart.left) / data.outputs.p.length;
      data.outputs.p.forEach((p, k) => {
        if (beyond(p, data.outputs.q[k], data.epsilons[i])) chart.shade(chart.left + k * slot, slot);
      });
    },
    densities(chart, data, i) {
      if (!data.densities) return;
      const { y, p, q } = data.densities;
      for (let k = 0; k + 1 < y.length; k++) {
        if (beyond(p[k], q[k], data.epsilons[i])) {
          chart.shade(chart.x(y[k]), chart.x(y[k + 1]) - chart.x(y[k]) + 0.3);
        }
      }
    },
  };

  function start(section) {
    const data = JSON.parse(section.querySelector("script[type='application/json']").textContent);
    const charts = Array.from(section.querySelectorAll("svg.chart"), (svg) => new Chart(svg));
    const slider = (name) => section.querySelector("input[name='" + name + "']");
    const epsilon = slider("epsilon"), delta = slider("delta");
    const say = (name, words) => {
      for (const place of section.querySelectorAll("[data-say='" + name + "']")) {
        place.textContent = words;
      }
    };
    function draw() {
      const i = Number(epsilon.value), j = Number(delta.value);
      epsilon.setAttribute("aria-valuetext", "ε = " + shown(data.epsilons[i]));
      delta.setAttribute("aria-valuetext", "δ = " + shown(data.deltas[j]));
      say("epsilon", shown(data.epsilons[i]));
      say("delta", shown(data.deltas[j]));
      if (data.leastDelta.length) say("least_delta", deltaAt(data, i));
      if (data.leastEpsilon.length) say("least_epsilon", shown(number(data.leastEpsilon[j])));
      say("certainty", certainty(data.epsilons[i]));
      say("answer", answer(data, i, j));
      for (const chart of charts) {
        chart.clear();
        if (painters[chart.kind]) painters[chart.kind](chart, data, i, j);
      }
    }
    epsilon.addEventListener("input", draw);
    delta.addEventListener("input", draw);
    section.querySelector(".controls").hidden = false;
    draw();
  }

  function copyable(block) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = block.querySelector("pre").textContent;
      try {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
      } catch {
        // Without permission the text is marked, for the reader's own copy command.
        getSelection().selectAllChildren(block.querySelector("pre"));
        button.textContent = "Selected: press Ctrl+C";
      }
    });
    block.prepend(button);
  }

  document.querySelectorAll(".explorer").forEach(start);
  document.querySelectorAll(".copyable").forEach(copyable);
  // On paper everything is open, but for tables beside charts and scripts that nobody types in.
  const details = Array.from(document.querySelectorAll("details"));
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = details.filter((d) => !d.open && !d.matches(".numbers, .copyable"));
    closed.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
})();
