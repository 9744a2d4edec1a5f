/** Formats rows as a table for the terminal and for RESULTS.md. Pure. */
import { median, ratioOf, type Row } from "./figures.ts";

/** Where and when the figures were measured; never the name of a machine or a path. */
export interface Circumstances {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  readonly date: string;
  /** The server ran on core 0, the load on core 1. */
  readonly pinned: boolean;
  /** Load average of the minute before the run; above 0.5 another program was running. */
  readonly loadBefore: number;
  readonly rounds: number;
  readonly seconds: number;
}

const HEAD = ["subject", "figure", "unit", "here (least-most)", "bare", "against", "ratio", "target", "met"];

/** Three significant digits, thousands separated. */
export function shown(value: number): string {
  if (!Number.isFinite(value)) return "-";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function cells(row: Row): string[] {
  const { subject, figure, unit, ours, bare, target } = row;
  const here = median(ours);
  const ratio = ratioOf(row);
  const range = ours.length > 1 ? ` (${shown(Math.min(...ours))}-${shown(Math.max(...ours))})` : "";
  return [
    subject,
    figure,
    unit,
    `${shown(here)}${range}`,
    bare ? shown(median(bare.rounds)) : "-",
    bare?.name ?? "-",
    bare ? ratio.toFixed(2) : "-",
    target?.text ?? "-",
    target ? (target.met(here, ratio) ? "yes" : "no") : "-",
  ];
}

/** A Markdown table with aligned columns. */
export function table(rows: readonly Row[]): string {
  const lines = [HEAD, ...rows.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const [head = "", ...body] = lines.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`,
  );
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [head, rule, ...body].join("\n");
}

/** Load average above which another program is running. */
const BUSY = 0.5;

/** One line on the machine and the run. */
export function describe({ cpu, cores, node, date, pinned, loadBefore, rounds, seconds }: Circumstances): string {
  const where = pinned ? "server on core 0, load on core 1" : "not pinned";
  const busy = loadBefore > BUSY ? ", so something else was running: take absolute figures with care" : "";
  return `${cpu}, ${cores} cores, Node ${node}, ${date}; ${where}; ${rounds} rounds; ${seconds} s; load average before: ${loadBefore.toFixed(2)}${busy}`;
}

/** Notes below the table. */
const NOTES = `- start: from spawn to the answer to \`connect\`; bare: to the first answered frame. Idle memory: VmRSS, threads included.
- rpc: \`sync method\` answers a constant as large as \`health\`, on both sides; \`health\` itself is asynchronous.
- handshake: clients of mode \`cli\`, which presence does not track. The load generator saturates first: it reads a
  \`hello-ok\` of 2 kB from the gateway and 0.1 kB from the bare server, so the CPU of the server says more.
- fan-out: bare encodes once and sends to each socket. Only one event at a time is held against the target: with
  several under way the gateway writes events of one tick together, which the pace of this load brings about.
- http: bare servers check no credential and no schema.
- webhooks: bare servers check no credential. \`note\` is an action of the benchmark that does what \`wake\` does, spread over
  sessions of 100 events, since one session takes 1,000 and these are never told. Nothing is told or woken meanwhile.
- store: what is compared is the same method on a small store, not a bare server.
- wakes: \`koa with a log and two rows\` is the least that a durable webhook needs: no credential, no marking of external content, no
  queue, and nothing that bounds it.
- growth: what is compared is the same gateway with a tenth of the records. Sessions and messages grow in \`store\`, events in
  \`wakes\`, devices in \`handshake\`.
- crowd: \`agents.defaults.maxConcurrent\` is 1,000 here; the delay of the event loop is that of all rounds.
- stream: the targets are those of \`/v1/chat/completions\`, held against \`chat.send\`, which also stores the question
  twice before it asks. \`agents.defaults.maxConcurrent\` is 16 here; with its default of 4 twelve of the 16 streams would
  wait. The first token is the first \`assistant\` event; the 20 ms the model waits before a paced token are subtracted.
- chat-apis: what a turn of an agent adds to talking to the model server: its question is stored twice before the model is
  asked, with the prompt of the agent and its 22 tools. Each request has a session of its own. Tokens that arrive together leave
  the gateway together; the relay writes each of them.
- event loop: 16 calls in flight, list and history one after the other, 50 events/s to 100 connections and more, 50
  handshakes/s at most and 4 streams, all at once on one core; the monitor's own interval is subtracted.

Why rows are not met:

- start: Node needs 45 ms, and loading 160 modules 155 ms; the rest opens the database and sets up the plugins that begin awake.
- sleepers: a plugin that is asleep is checked like any other: its manifest, who may write its files, its declarations.
- idle memory: the threads of the database and of the watchdog need 23 MiB.
- wakes, webhooks: what a durable webhook needs at least is a sixth to a quarter of koa, which stores nothing; see the row of that program.
- tools, http: each request checks the credential, its rate, the policy of the tool and the schema, and can be cancelled and traced.
- handshake: a \`hello-ok\` lists methods, events, presence and health; a known device costs a signature and reads of its record and its token more.
- connection memory: the state of a connection, its queue, its limits and its listeners.
- stream, chat-apis: a turn stores its question before the model is asked, since an accepted question must not be lost, and reads its session,
  its workspace and its tools. 16 turns that begin together share one core.`;

/** The page RESULTS.md. */
export function page(rows: readonly Row[], circumstances: Circumstances): string {
  return `# Benchmark results

Written by \`npm run bench\`; do not edit.

${describe(circumstances)}.

Each figure is the median of its rounds, with the least and the most of them. The bare server ran the same work in
the same run, round by round in turn with the gateway; the ratio is the median of the ratios of each round. Compare
ratios, not absolute figures, between machines. Every gateway ran with \`NODE_ENV=production\` and a state directory
of its own.

${table(rows)}

${NOTES}
`;
}
