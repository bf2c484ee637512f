// Tables: a click on a head sorts by its column, a button copies the table as CSV.
(function () {
  "use strict";
  var UNITS = { "": 1, "%": 1, k: 1e3, "Gb/s": 1, "Tb/s": 1e3, "Pb/s": 1e6, "Mb/s": 1e-3, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
  function value(text) {
    var found = /^≤?([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*(\S*)/.exec(text.trim());
    return found ? parseFloat(found[1].replace(/,/g, "")) * (UNITS[found[2]] || 1) : null;
  }
  function order(a, b) {
    var x = value(a), y = value(b);
    if (x !== null && y !== null && x !== y) return x - y;
    if ((x === null) !== (y === null)) return x === null ? 1 : -1;
    return a.localeCompare(b, "en", { numeric: true });
  }
  function cells(row) { return Array.prototype.map.call(row.cells, function (cell) { return cell.textContent.trim(); }); }
  // A cell that a spreadsheet would take for a formula is marked as text; numbers with a sign stay numbers.
  function quoted(text) {
    if (/^[=+\-@\t\r]/.test(text) && text !== "-" && !/^[-+][\d,]*\.?\d+(e[-+]?\d+)?( [\wµ\/%]+)?$/.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  function csv(table) {
    return Array.prototype.map.call(table.rows, function (row) { return cells(row).map(quoted).join(","); }).join("\r\n") + "\r\n";
  }
  function copy(text, button) {
    function done(word) { button.textContent = word; setTimeout(function () { button.textContent = "Copy as CSV"; }, 2000); }
    function oldWay() {
      var area = document.createElement("textarea");
      area.value = text;
      document.body.appendChild(area);
      area.select();
      var worked = document.execCommand("copy");
      area.remove();
      done(worked ? "Copied" : "Not copied");
    }
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(function () { done("Copied"); }, oldWay);
    else oldWay();
  }
  function sort(table, column, heads) {
    var body = table.tBodies[0], head = heads[column], down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(function (one) { one.removeAttribute("aria-sort"); });
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    Array.prototype.slice.call(body.rows)
      .sort(function (a, b) { return (down ? -1 : 1) * order(cells(a)[column], cells(b)[column]); })
      .forEach(function (row) { body.appendChild(row); });
  }
  Array.prototype.forEach.call(document.querySelectorAll("table.grid"), function (table) {
    var heads = Array.prototype.filter.call(table.tHead.rows[0].cells, function (head) { return head.textContent; });
    if (table.tBodies[0].rows.length > 1) heads.forEach(function (head, column) {
      var button = document.createElement("button");
      button.className = "sort";
      button.textContent = head.textContent;
      button.title = "Sort by " + head.textContent;
      head.textContent = "";
      head.appendChild(button);
      button.addEventListener("click", function () { sort(table, column, heads); });
    });
    var button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy as CSV";
    button.addEventListener("click", function () { copy(csv(table), button); });
    table.parentNode.parentNode.insertBefore(button, table.parentNode.nextSibling);
  });
})();
