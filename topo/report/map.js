// The interactive map: draws what its element's JSON holds, with D3 for the picture, for panning and for zooming.
(function () {
  "use strict";
  var SLOT = 112, BOX = 100, LINE = 44, HIGH = 34, GAP = 64, HEAD = 20, MOST = 4000, READABLE = 0.3;

  function start(root) {
    var data = JSON.parse(root.querySelector("script").textContent);
    var U = data.units, G = data.groups, L = data.links;
    var nUnits = U.name.length, nGroups = G.parent.length, nLinks = L.a.length;
    var kids = [], units = [], top = [], size = [], open = [], match = null, chosen = null, hits = [], hit = -1;
    var svg = d3.select(root).select("svg.canvas"), view = svg.append("g");
    var layers = { areas: view.append("g"), links: view.append("g"), heads: view.append("g"), items: view.append("g") };
    var told = root.querySelector(".told"), filters = {};
    var zoom = d3.behavior.zoom().scaleExtent([0.02, 8]).on("zoom", moved);
    var findings = [], ACROSS = 12, i;

    for (i = 0; i < nGroups; i++) { kids.push([]); units.push([]); top.push(0); size.push(0); open.push(i === 0); }
    for (i = 0; i < nGroups; i++) if (G.parent[i] >= 0) kids[G.parent[i]].push(i);
    for (i = 0; i < nUnits; i++) {
      units[U.group[i]].push(i);
      findings.push([]);
      for (var g = U.group[i]; g >= 0; g = G.parent[g]) { top[g] = Math.max(top[g], U.tier[i]); size[g] += U.members[i]; }
    }
    data.findings.forEach(function (one, k) { one[2].forEach(function (u) { findings[u].push(k); }); });
    if (nUnits <= 60) for (i = 0; i < nGroups; i++) open[i] = true;

    function moved() {
      view.attr("transform", "translate(" + d3.event.translate + ")scale(" + d3.event.scale + ")");
      svg.attr("data-scale", d3.event.scale);
    }

    // Where everything stands. Every tier has a band of lines; an open group takes a range of columns.
    function measure(g) {
      var m = { group: g, blocks: [], lines: {}, lift: {} }, byTier = {}, closed = {}, width = 0;
      function put(table, tier, item) { (table[tier] = table[tier] || []).push(item); }
      function lines(tier, n) { m.lines[tier] = Math.max(m.lines[tier] || 0, n); }
      units[g].forEach(function (u) { put(byTier, U.tier[u], u); });
      kids[g].forEach(function (k) { if (!open[k]) put(closed, top[k], nUnits + k); });
      var shut = 0;
      Object.keys(closed).forEach(function (t) { shut = Math.max(shut, Math.min(closed[t].length, ACROSS)); });
      Object.keys(closed).forEach(function (t) {
        m.blocks.push({ items: closed[t], tier: +t, x: 0, wide: shut });
        lines(t, Math.ceil(closed[t].length / shut));
      });
      width = shut;
      kids[g].forEach(function (k) {
        if (!open[k]) return;
        var inner = measure(k);
        m.blocks.push({ inner: inner, x: width });
        width += inner.width + 0.3;
        Object.keys(inner.lines).forEach(function (t) { lines(t, inner.lines[t]); });
        Object.keys(inner.lift).forEach(function (t) { m.lift[t] = Math.max(m.lift[t] || 0, inner.lift[t]); });
      });
      Object.keys(byTier).forEach(function (t) {
        var n = byTier[t].length, beside = m.lines[t] > 0, wide = beside ? Math.min(n, ACROSS) : Math.max(width, Math.min(n, ACROSS));
        m.blocks.push({ items: byTier[t], tier: +t, x: beside ? width : 0, wide: wide, spread: !beside });
        if (beside) width += wide; else width = Math.max(width, wide);
        lines(t, Math.ceil(n / Math.max(1, Math.floor(wide))));
      });
      m.width = Math.max(width, 1);
      m.tiers = Object.keys(m.lines).map(Number);
      m.top = Math.max.apply(null, m.tiers.concat([0]));
      m.low = Math.min.apply(null, m.tiers.concat([m.top]));
      m.lift[m.top] = (m.lift[m.top] || 0) + 1;
      m.level = m.lift[m.top];
      return m;
    }

    function layout() {
      ACROSS = Math.max(4, Math.min(16, Math.round(canvas().width / SLOT)));
      var whole = measure(0), y = 0, rows = {}, at = {}, frames = [];
      whole.tiers.sort(function (a, b) { return b - a; }).forEach(function (t) {
        y += HEAD * (whole.lift[t] || 0);
        rows[t] = { y: y, end: y + LINE * whole.lines[t] };
        y = rows[t].end + GAP;
      });
      (function walk(m, x) {
        if (m.tiers.length) frames.push({
          id: m.group, x: x * SLOT - 4, y: rows[m.top].y - HEAD * m.level, width: m.width * SLOT - 4,
          height: rows[m.low].end - rows[m.top].y + HEAD * m.level
        });
        m.blocks.forEach(function (block) {
          if (block.inner) { walk(block.inner, x + block.x); return; }
          var wide = Math.max(1, Math.floor(block.wide)), n = block.items.length;
          block.items.forEach(function (item, k) {
            var line = Math.floor(k / wide), here = Math.min(wide, n - line * wide);
            var free = block.spread ? (m.width - here) / 2 : 0;
            at[item] = { id: item, x: (x + block.x + free + k % wide) * SLOT, y: rows[block.tier].y + line * LINE, tier: block.tier };
          });
        });
      })(whole, 0);
      return { at: at, frames: frames, width: whole.width * SLOT, height: Math.max(y - GAP, LINE), rows: rows };
    }

    function shown(u) {
      var seen = u;
      for (var g = U.group[u]; g >= 0; g = G.parent[g]) if (!open[g]) seen = nUnits + g;
      return seen;
    }

    // Filters: which links and which units are meant; null is everything.
    function filtered() {
      var rail = +filters.rail, plane = +filters.plane, pod = +filters.pod, links = [], hosts = [];
      match = null;
      if (!(rail >= 0) && !(plane >= 0) && !(pod >= 0)) return;
      for (var i = 0; i < nUnits; i++) {
        hosts.push((rail >= 0 ? U.rail[i] === rail : true) && (plane >= 0 ? U.plane[i] === plane : true) && (pod >= 0 ? U.pod[i] === pod : true));
      }
      for (i = 0; i < nLinks; i++) {
        var a = L.a[i], b = L.b[i];
        links.push((!(rail >= 0) || L.rail[i] === rail) && (!(plane >= 0) || L.plane[i] === plane) &&
          (!(pod >= 0) || U.pod[a] === pod || U.pod[b] === pod));
        if (links[i]) [a, b].forEach(function (u) { if (!(pod >= 0) || U.pod[u] === pod || U.pod[u] < 0) hosts[u] = true; });
      }
      match = { links: links, units: hosts };
    }

    function bundles(at) {
      var table = {}, list = [], of = [], i;
      for (i = 0; i < nUnits; i++) of.push(shown(i));
      for (i = 0; i < nLinks; i++) {
        if (match && !match.links[i]) continue;
        var a = of[L.a[i]], b = of[L.b[i]], ab = L.ab ? L.ab[i] : -1, ba = L.ba ? L.ba[i] : -1, turn = a > b;
        if (a === b || !at[a] || !at[b]) continue;
        var key = turn ? b + "-" + a : a + "-" + b, one = table[key];
        if (!one) { one = table[key] = { key: key, a: turn ? b : a, b: turn ? a : b, n: 0, gbps: 0, ab: -1, ba: -1, faults: {} }; list.push(one); }
        one.n += L.n[i];
        one.gbps = L.gbps[i] === null || one.gbps === null ? null : one.gbps + L.gbps[i];
        one.ab = Math.max(one.ab, turn ? ba : ab);
        one.ba = Math.max(one.ba, turn ? ab : ba);
        if (findings[L.a[i]].length && findings[L.b[i]].length)
          findings[L.a[i]].forEach(function (k) { if (findings[L.b[i]].indexOf(k) >= 0) one.faults[k] = true; });
      }
      return list;
    }

    function name(id) { return id < nUnits ? U.name[id] : G.label[id - nUnits]; }
    function count(n, word) {
      var many = { leaf: "leaves", "switch": "switches" };
      return n.toLocaleString("en") + " " + (n === 1 ? word : many[word] || (/switch$/.test(word) ? word + "es" : word + "s"));
    }
    function rate(gbps) {
      if (gbps === null) return "rate unknown";
      return gbps >= 1e6 ? +(gbps / 1e6).toPrecision(4) + " Pb/s" : gbps >= 1000 ? +(gbps / 1000).toPrecision(4) + " Tb/s" : +gbps.toPrecision(4) + " Gb/s";
    }
    function percent(share) { return share >= 1e8 ? "no capacity" : share / 10 + " %"; }
    function inside(g) {
      var list = units[g].slice();
      kids[g].forEach(function (k) { list = list.concat(inside(k)); });
      return list;
    }
    function faults(list) {
      return list.slice(0, 4).map(function (k) { return data.findings[k][1] + ": " + data.findings[k][0]; })
        .concat(list.length > 4 ? [count(list.length - 4, "more finding")] : []);
    }

    function tellItem(id) {
      var said = [name(id)], own = [];
      if (id < nUnits) {
        said.push((U.members[id] > 1 ? "" : data.words[U.tier[id]]) + (U.endpoints[id] ? ", " + count(U.endpoints[id], "endpoint") : ""));
        ["part", "rail", "plane", "pod"].forEach(function (c) { if (U[c][id] >= 0) said.push(c + " " + data.labels[c][U[c][id]]); });
        own = findings[id];
      } else {
        var counts = {}, ends = 0, seen = {};
        inside(id - nUnits).forEach(function (u) {
          counts[U.tier[u]] = (counts[U.tier[u]] || 0) + U.members[u];
          ends += U.endpoints[u];
          findings[u].forEach(function (k) { seen[k] = true; });
        });
        Object.keys(counts).sort(function (a, b) { return b - a; }).forEach(function (t) { said.push(count(counts[t], data.words[t])); });
        said.push(count(ends, "endpoint"));
        own = Object.keys(seen);
      }
      tell(said.filter(Boolean).join("; "), faults(own));
    }
    function tellLink(one) {
      var said = name(one.a) + " – " + name(one.b) + ": " + count(one.n, "link") + ", " + rate(one.gbps) + " in each direction";
      var load = one.ab < 0 ? "no load computed" : "highest load " + percent(one.ab) + " of a link from " + name(one.a) + ", " + percent(one.ba) + " back";
      tell(said + "; " + load, faults(Object.keys(one.faults)));
    }
    function tell(text, lines) {
      told.textContent = text;
      lines.forEach(function (line) {
        told.appendChild(document.createElement("br"));
        told.appendChild(document.createTextNode(line));
      });
    }

    function shade(one) {
      var most = Math.max(one.ab, one.ba);
      return most < 0 ? "none" : most < 500 ? "low" : most < 900 ? "mid" : most <= 1000 ? "high" : "over";
    }
    function path(one, at) {
      var a = at[one.a], b = at[one.b], ax = a.x + BOX / 2, bx = b.x + BOX / 2;
      if (a.tier === b.tier) {
        var dip = Math.min(14 + Math.abs(ax - bx) / 8, 60);
        return "M" + ax + " " + (a.y + HIGH) + "Q" + (ax + bx) / 2 + " " + (Math.max(a.y, b.y) + HIGH + dip) + " " + bx + " " + (b.y + HIGH);
      }
      var up = a.tier > b.tier ? a : b, low = up === a ? b : a;
      return "M" + (low.x + BOX / 2) + " " + low.y + "L" + (up.x + BOX / 2) + " " + (up.y + HIGH);
    }
    function short(text, most) { return text.length <= most ? text : text.slice(0, most - 6).replace(/[ …]+$/, "") + "…" + text.slice(-5); }
    // As much of a text as is no wider than a box in the letters that this browser has.
    var pen = document.createElement("canvas").getContext("2d");
    function fitted(text, wide) {
      pen.font = getComputedStyle(svg.node()).font;
      if (pen.measureText(text).width > wide) text = text.replace(" … ", "…");
      for (var most = text.length; most > 7 && pen.measureText(short(text, most)).width > wide; ) most--;
      return short(text, most);
    }
    function isOff(id) {
      if (!match) return false;
      if (id < nUnits) return !match.units[id];
      return !inside(id - nUnits).some(function (u) { return match.units[u]; });
    }
    function isFaulty(id) {
      return id < nUnits ? findings[id].length > 0 : inside(id - nUnits).some(function (u) { return findings[u].length; });
    }

    var place = null;
    function draw() {
      place = layout();
      var at = place.at, all = bundles(at), list = all;
      if (all.length > MOST) list = all.filter(function (one) { return chosen !== null && (one.a === chosen || one.b === chosen); }).slice(0, MOST);
      root.querySelector(".hidden-links").textContent = all.length > MOST ?
        all.length.toLocaleString("en") + " bundles of links are too many to draw at once: choose a box to see its own." : "";

      // Areas lie under the links, their heads over them: a head closes its group.
      function box(node) {
        node.attr({ x: function (f) { return f.x; }, y: function (f) { return f.y; }, width: function (f) { return f.width; }, rx: 5 });
      }
      function head(f) { return "− " + short(G.label[f.id], Math.max(8, Math.floor(f.width / 7) - 2)); }
      var areas = layers.areas.selectAll("rect.area").data(place.frames, function (f) { return f.id; });
      areas.enter().append("rect").attr("class", "area");
      box(areas.attr("height", function (f) { return f.height; }).order());
      areas.exit().remove();
      var heads = layers.heads.selectAll("g.frame").data(place.frames, function (f) { return f.id; });
      var born = heads.enter().append("g").attr("class", "frame");
      born.append("rect").attr("class", "head").attr("height", HEAD - 2);
      born.append("text");
      born.each(function (f) { act(d3.select(this), function () { toggle(f.id, false); }); });
      heads.attr("aria-label", function (f) { return "close " + G.label[f.id]; });
      box(heads.select("rect"));
      heads.select("rect").attr("width", function (f) { return Math.min(f.width, head(f).length * 7 + 14); });
      heads.select("text").attr({ x: function (f) { return f.x + 8; }, y: function (f) { return f.y + 13; } }).text(head);
      heads.exit().remove();

      var links = layers.links.selectAll("g.link").data(list, function (one) { return one.key; });
      born = links.enter().append("g");
      born.append("path").attr("class", "line");
      born.append("path").attr("class", "hover").on("mouseenter", hovered).on("click", hovered);
      function hovered() { var one = d3.select(this.parentNode).datum(); tellLink(one); }
      links.attr("class", function (one) { return "link load-" + shade(one) + (Object.keys(one.faults).length ? " faulty" : ""); })
        .attr("data-ends", function (one) { return name(one.a) + "|" + name(one.b); });
      links.select(".line").attr("d", function (one) { return path(one, at); })
        .attr("stroke-width", function (one) { return Math.min(1 + Math.log(one.n) / Math.LN2 * 0.45, 6); });
      links.select(".hover").attr("d", function (one) { return path(one, at); });
      links.exit().remove();

      var boxes = Object.keys(at).map(function (id) { return at[id]; });
      var items = layers.items.selectAll("g.item").data(boxes, function (b) { return b.id; });
      born = items.enter().append("g");
      born.append("rect").attr({ width: BOX, height: HIGH, rx: 4 });
      born.append("text").attr({ x: BOX / 2, y: 14, "text-anchor": "middle" }).text(function (b) { return fitted(name(b.id), BOX - 8); });
      born.append("text").attr({ x: BOX / 2, y: 27, "text-anchor": "middle", "class": "dim" }).text(function (b) {
        return b.id < nUnits ? (U.members[b.id] > 1 ? "" : data.words[U.tier[b.id]]) : "+ " + size[b.id - nUnits].toLocaleString("en") + " inside";
      });
      born.append("title").text(function (b) { return name(b.id); });
      born.each(function (b) { act(d3.select(this), function () { if (b.id < nUnits) choose(b.id); else toggle(b.id - nUnits, true); }); });
      born.on("mouseenter", function (b) { tellItem(b.id); }).on("focus", function (b) { tellItem(b.id); });
      items.attr("transform", function (b) { return "translate(" + b.x + "," + b.y + ")"; })
        .attr("data-name", function (b) { return name(b.id); })
        .attr("aria-label", function (b) { return b.id < nUnits ? name(b.id) : "open " + name(b.id); })
        .attr("class", function (b) {
          return "item tier-" + Math.min(b.tier, 3) + (b.id < nUnits ? " unit" : " group") + (isOff(b.id) ? " off" : "") +
            (b.id === chosen ? " chosen" : "") + (isFaulty(b.id) ? " faulty" : "");
        });
      items.exit().remove();
    }
    function act(node, what) {
      node.attr({ tabindex: 0, role: "button" }).on("click", function () { if (!d3.event.defaultPrevented) what(); })
        .on("keydown", function () { if (d3.event.key === "Enter" || d3.event.key === " ") { d3.event.preventDefault(); what(); } });
    }
    function choose(id) { chosen = id; draw(); tellItem(id); }
    function toggle(g, want) { open[g] = want; draw(); fit(); }
    function canvas() { return svg.node().getBoundingClientRect(); }
    function go(scale, x, y) {
      zoom.scale(scale).translate([x, y]);
      svg.call(zoom.event);
    }
    // The whole, or as much of its middle as can be read: an explicit wish for the whole has no least scale.
    function fit(least) {
      var box = canvas(), wide = Math.max(box.width, 200), high = Math.max(box.height, 200);
      var scale = Math.min((wide - 24) / place.width, (high - 40) / (place.height + HEAD), 1.4);
      svg.attr("viewBox", "0 0 " + wide + " " + high);
      if (typeof least === "number") scale = Math.max(scale, least);
      go(scale, (wide - place.width * scale) / 2, (high - place.height * scale) / 2 + 4);
    }
    function centre(id) {
      var box = canvas(), at = place.at[id];
      go(1, box.width / 2 - at.x - BOX / 2, box.height / 2 - at.y - HIGH / 2);
    }
    function larger(by) {
      var box = canvas(), scale = zoom.scale(), next = Math.max(0.02, Math.min(8, scale * by)), t = zoom.translate();
      go(next, box.width / 2 - (box.width / 2 - t[0]) * next / scale, box.height / 2 - (box.height / 2 - t[1]) * next / scale);
    }
    function find(text) {
      var wanted = text.trim().toLowerCase(), same = root.dataset.wanted === wanted && hits.length;
      if (!wanted) return;
      root.dataset.wanted = wanted;
      if (!same) {
        hits = [];
        hit = -1;
        for (var i = 0; i < nUnits; i++) if (U.name[i].toLowerCase().indexOf(wanted) >= 0) hits.push(i);
        hits.sort(function (a, b) { return U.name[a].length - U.name[b].length || a - b; });
      }
      if (!hits.length) { tell("No host or switch has " + text.trim() + " in its name.", []); return; }
      hit = (hit + 1) % hits.length;
      for (var g = U.group[hits[hit]]; g >= 0; g = G.parent[g]) open[g] = true;
      choose(hits[hit]);
      centre(hits[hit]);
      told.textContent = (hit + 1) + " of " + hits.length.toLocaleString("en") + ": " + told.textContent;
    }

    // The controls.
    ["rail", "plane", "pod"].forEach(function (column) {
      var select = root.querySelector("select[name=" + column + "]"), used = {};
      U[column].concat(L[column] || []).forEach(function (code) { if (code >= 0) used[code] = true; });
      var codes = Object.keys(used).map(Number);
      if (codes.length < 2) { select.parentNode.hidden = true; return; }
      codes.forEach(function (code) {
        var option = document.createElement("option");
        option.value = code;
        option.textContent = data.labels[column][code];
        select.appendChild(option);
      });
      select.addEventListener("change", function () { filters[column] = select.value === "" ? -1 : select.value; filtered(); draw(); });
    });
    ["rail", "plane", "pod"].forEach(function (column) { filters[column] = -1; });
    root.querySelector("form").addEventListener("submit", function (event) { event.preventDefault(); find(root.querySelector("input").value); });
    var does = {
      larger: function () { larger(1.5); },
      smaller: function () { larger(1 / 1.5); },
      fit: fit,
      open: function () {
        var deeper = [];
        for (var g = 0; g < nGroups; g++) if (!open[g] && open[G.parent[g]]) deeper.push(g);
        deeper.forEach(function (g) { open[g] = true; });
        draw();
        fit(READABLE);
      },
      close: function () { for (var g = 1; g < nGroups; g++) open[g] = false; chosen = null; draw(); fit(); }
    };
    Object.keys(does).forEach(function (key) { root.querySelector("button[name=" + key + "]").addEventListener("click", does[key]); });
    svg.call(zoom).on("dblclick.zoom", null);
    // In a page that scrolls, the wheel belongs to the page until the map has been clicked.
    var wheel = svg.on("wheel.zoom"), ready = root.classList.contains("alone");
    svg.on("wheel.zoom", function () { if (ready || d3.event.ctrlKey) wheel.apply(this, arguments); });
    svg.on("mousedown.ready", function () { ready = true; });
    document.addEventListener("mousedown", function (event) { if (!root.contains(event.target)) ready = root.classList.contains("alone"); });
    window.addEventListener("resize", function () { draw(); fit(); });
    root.querySelector(".controls").hidden = false;
    draw();
    fit();
    tell(data.load ? "Loads: " + data.load : "No loads computed.", data.note ? [data.note] : []);
    root.setAttribute("data-ready", "");
  }
  Array.prototype.forEach.call(document.querySelectorAll(".map"), start);
})();
