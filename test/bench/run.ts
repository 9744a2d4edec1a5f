/**
 * `npm run bench [-- --quick] [-- --only <name>]`: measures the gateway and bare servers, and prints a table.
 *
 * This process is the load generator; every server runs in its own process. A complete run without options also
 * writes RESULTS.md; it needs root and PostgreSQL for `several gateways`. A bad figure is not an error; a figure that cannot be measured is.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../checkout.ts";
import type { Row } from "./figures.ts";
import { machine, pinLoad } from "./machine.ts";
import { describe, page, table } from "./report.ts";
import { killServers } from "./server-process.ts";
import { chatApis } from "./subjects/chat-apis.ts";
import { cli } from "./subjects/cli.ts";
import { connectionMemory } from "./subjects/connection-memory.ts";
import { crowd } from "./subjects/crowd.ts";
import { eventLoop } from "./subjects/event-loop.ts";
import { fanOut } from "./subjects/fan-out.ts";
import { growth } from "./subjects/growth.ts";
import { handshake } from "./subjects/handshake.ts";
import { http } from "./subjects/http.ts";
import { idleMemory } from "./subjects/idle-memory.ts";
import { panel } from "./subjects/panel.ts";
import { placements } from "./subjects/placements.ts";
import { rpc } from "./subjects/rpc.ts";
import { severalGateways } from "./subjects/several-gateways.ts";
import { sleepers } from "./subjects/sleepers.ts";
import { start } from "./subjects/start.ts";
import { store } from "./subjects/store.ts";
import { stream } from "./subjects/stream.ts";
import { tools } from "./subjects/tools.ts";
import { wakes } from "./subjects/wakes.ts";
import { webhooks } from "./subjects/webhooks.ts";
import { FULL, QUICK, type Settings, type Subject } from "./suite.ts";

const SUBJECTS: readonly Subject[] = [
  start,
  sleepers,
  idleMemory,
  cli,
  rpc,
  placements,
  http,
  wakes,
  webhooks,
  tools,
  handshake,
  fanOut,
  connectionMemory,
  store,
  growth,
  stream,
  chatApis,
  crowd,
  eventLoop,
  panel,
  severalGateways,
];

/** Milliseconds one subject may take; after that it counts as failed, and the run continues without it. */
const SUBJECT_MS = 600_000;
/** Milliseconds after which the whole run is aborted. */
const RUN_MS = 2_400_000;

const names = SUBJECTS.map(({ name }) => name);
const { values } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string", multiple: true } } });
const unknown = values.only?.filter((name) => !names.includes(name)) ?? [];
if (unknown.length > 0) {
  process.stderr.write(`unknown subject: ${unknown.join(", ")}; available: ${names.join(", ")}\n`);
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
setTimeout(() => {
  process.stderr.write("the run took too long and was aborted\n");
  process.exit(1);
}, RUN_MS).unref();

process.exitCode = await run(values.quick ? QUICK : FULL);

/** @returns the exit code */
async function run(settings: Settings): Promise<number> {
  const begun = performance.now();
  const { cpu, cores, node, loadBefore } = machine();
  const pinned = pinLoad();
  const rows: Row[] = [];
  const failures: string[] = [];
  for (const subject of SUBJECTS) {
    if (values.only && !values.only.includes(subject.name)) continue;
    const from = performance.now();
    try {
      rows.push(...(await inTime(subject, settings)));
    } catch (error) {
      failures.push(`${subject.name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    process.stderr.write(`${subject.name}: ${((performance.now() - from) / 1_000).toFixed(1)} s\n`);
  }
  const circumstances = {
    cpu,
    cores,
    node,
    date: new Date().toISOString().slice(0, 10),
    pinned,
    loadBefore,
    rounds: settings.rounds,
    seconds: Math.round((performance.now() - begun) / 1_000),
  };
  process.stdout.write(`${table(rows)}\n\n${describe(circumstances)}\n`);
  for (const failure of failures) process.stderr.write(`not measured: ${failure}\n`);
  const whole = settings === FULL && !values.only && failures.length === 0;
  if (whole) await writeFile(join(root, "test/bench/RESULTS.md"), page(rows, circumstances));
  return failures.length > 0 ? 1 : 0;
}

/** @throws Error the subject fails or exceeds its time; the end of its servers then ends it, too */
async function inTime(subject: Subject, settings: Settings): Promise<readonly Row[]> {
  let late: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    late = setTimeout(() => {
      reject(new Error(`not done within ${SUBJECT_MS / 1_000} s`));
      killServers();
    }, SUBJECT_MS);
  });
  try {
    return await Promise.race([subject.measure(settings), tooLong]);
  } finally {
    clearTimeout(late);
  }
}
