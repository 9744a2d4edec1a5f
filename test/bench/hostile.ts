/**
 * `npm run hostile [-- --minutes <n>] [--seed <n>] [--only <behaviour>]`: hostile clients against one gateway, run by hand. One behaviour at a
 * time, then all mixed for the second half. Prints for each phase how long `health` took for a well-behaved client, and the gateway's memory.
 * The exit code is 1 if a `health` call or a connect of that client failed, or if the 99th percentile of `health` was above 100 ms and above
 * twice the idle percentile of this run.
 */
import { parseArgs } from "node:util";
import { BEHAVIOURS, behaviourOf, CALL_NAMES, LARGE_NAMES } from "./hostile/behaviours.ts";
import { type PhaseFigures, runCampaign } from "./hostile/campaign.ts";
import { pinLoad } from "./machine.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    seed: { type: "string", default: String(Date.now() % 2_147_483_647) },
    only: { type: "string", multiple: true },
  },
});
const minutes = Number(values.minutes);
const seed = Number(values.seed);
const groups: Readonly<Record<string, readonly string[]>> = { large: LARGE_NAMES, calls: CALL_NAMES };
const only = values.only?.flatMap((name) => groups[name] ?? [name]);
const unknown = only?.find((name) => name !== "mixed" && !behaviourOf(name));
if (!(minutes > 0) || !Number.isInteger(seed) || unknown !== undefined) {
  const names = [...Object.keys(BEHAVIOURS), "mixed", "large", "calls", ...LARGE_NAMES, ...CALL_NAMES].join(", ");
  process.stderr.write(`--minutes takes a number above 0, --seed an integer, --only one of: ${names}\n`);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

/** Milliseconds by which hostile clients may delay the `health` call of another client. */
const MOST_MS = 100;
const REST_MS = 1_500;

pinLoad();
const names = ["idle", ...(only ?? Object.keys(BEHAVIOURS))];
const phaseMs = Math.max(1_000, (minutes * 60_000) / names.length / (only ? 1 : 2) - REST_MS);
const phases = names.map((name) => ({ name, ms: phaseMs }));
if (!only) phases.push({ name: "mixed", ms: minutes * 30_000 });

const HEAD = ["phase", "calls", "p50", "p99", "max", "connect", "loop", "RSS most", "after", "failed"];
process.stdout.write(`seed ${seed}; milliseconds of health, worst connect, worst event loop; MiB\n${row(HEAD)}\n`);
let idle: PhaseFigures | undefined;
const guilty: string[] = [];
const complaints = await runCampaign({ seed, phases, restMs: REST_MS, onPhase });
for (const [message, count] of complaints) process.stdout.write(`logged ${count} times: ${message}\n`);
process.stdout.write(guilty.length > 0 ? `too slow: ${guilty.join(", ")}\n` : "no phase was too slow\n");
process.exit(guilty.length > 0 ? 1 : 0);

function onPhase(figures: PhaseFigures): void {
  const { name, calls, p50, p99, max, connectMax, loopMax, rssMost, rssAfter, failures } = figures;
  idle ??= figures;
  if (failures.length > 0 || (p99 > MOST_MS && p99 > 2 * idle.p99)) guilty.push(name);
  const shown = [p50, p99, max, connectMax, loopMax, rssMost, rssAfter].map((value) => value.toFixed(1));
  process.stdout.write(`${row([name, String(calls), ...shown, String(failures.length)])}\n`);
  for (const reason of new Set(failures)) process.stdout.write(`  failed: ${reason}\n`);
}

function row([first = "", ...others]: readonly string[]): string {
  return [first.padEnd(34), ...others.map((cell) => cell.padStart(9))].join("");
}
