// Shows /api/status and /api/events, again every two seconds. Text is set with textContent only: names and messages may
// hold anything.
'use strict';

const byId = (id) => document.getElementById(id);
const count = (n) => n === undefined ? '' : n.toLocaleString('en');

async function get(path) {
  const token = sessionStorage.getItem('token');
  const answer = await fetch(path, token ? { headers: { Authorization: 'Bearer ' + token } } : {});
  if (answer.status === 401) {
    byId('login').hidden = false;
    throw new Error('a token is needed');
  }
  byId('login').hidden = true;
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.code + ': ' + body.message);
  return body;
}

// table fills a table: columns are [title, function of a row, is it a number].
function table(id, columns, rows) {
  const line = (tag, texts) => {
    const tr = document.createElement('tr');
    texts.forEach((text, i) => {
      const cell = document.createElement(tag);
      cell.textContent = text;
      if (columns[i][2]) cell.className = 'number';
      tr.append(cell);
    });
    return tr;
  };
  byId(id).replaceChildren(line('th', columns.map((c) => c[0])), ...rows.map((row) => {
    const tr = line('td', columns.map((c) => c[1](row)));
    if (row.status === 'FAILED' || row.status === 'SKIPPED' || row.level === 'ERROR') tr.className = 'bad';
    return tr;
  }));
}

function lag(flow) {
  const known = flow.positions.filter((p) => p.lag_records !== undefined);
  if (known.length === 0) return '';
  const records = known.reduce((sum, p) => sum + p.lag_records, 0);
  return `${count(records)} (${Math.max(...known.map((p) => p.lag_seconds)).toFixed(1)} s)`;
}

function progress(flow) {
  const p = flow.progress;
  if (!p) return '';
  const left = p.seconds_left ? `, ${Math.ceil(p.seconds_left)} s left` : '';
  return `${(100 * p.done / p.total).toFixed(0)} %${left}`;
}

const flows = [
  ['flow', (f) => f.name],
  ['status', (f) => f.status],
  ['why', (f) => f.error ? `${f.error.code}: ${f.error.message}` : f.reason ?? ''],
  ['target', (f) => f.target],
  ['batches', (f) => count(f.batches), true],
  ['records in', (f) => count(f.counts.num_input_records), true],
  ['rows out', (f) => count(f.counts.num_output_rows), true],
  ['dropped', (f) => count(f.counts.dropped_records), true],
  ['late', (f) => count(f.counts.num_late_rows), true],
  ['records/s', (f) => count(Math.round(f.records_per_second)), true],
  ['busy', (f) => `${Math.round(100 * f.saturation)} %`, true],
  ['lag', lag, true],
  ['drained', progress, true],
];
const tables = [
  ['table', (t) => t.name],
  ['rows', (t) => count(t.rows), true],
  ['keys', (t) => count(t.keys), true],
  ['bytes', (t) => count(t.bytes), true],
  ['version', (t) => count(t.version), true],
  ['digest', (t) => t.digest ?? ''],
];
const events = [
  ['time', (e) => e.timestamp.replace('T', ' ').slice(0, 19)],
  ['level', (e) => e.level],
  ['event', (e) => e.message],
];

let last = [];
let next = 0;

async function refresh() {
  try {
    const status = await get('/api/status');
    byId('pipeline').textContent = status.pipeline;
    byId('summary').textContent = `Sluice ${status.version}, ${status.continuous ? 'continuous' : 'triggered'}, update ${status.update.state}, ${status.ready ? 'ready' : 'not ready'}`;
    byId('reasons').replaceChildren(...(status.reasons ?? []).map((text) => {
      const li = document.createElement('li');
      li.className = 'bad';
      li.textContent = text;
      return li;
    }));
    table('flows', flows, status.flows);
    table('tables', tables, status.tables);
    for (let page; (page = await get(`/api/events?after=${next}&limit=1000`)).next !== next;) {
      next = page.next;
      last = page.events.reverse().concat(last).slice(0, 50);
    }
    table('events', events, last);
  } catch (problem) {
    byId('summary').textContent = problem.message;
  }
  setTimeout(refresh, 2000);
}

byId('login').addEventListener('submit', (event) => {
  event.preventDefault();
  sessionStorage.setItem('token', byId('token').value.trim());
});
refresh();
