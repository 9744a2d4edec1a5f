/** The process of a well-behaved client: calls `health` 20 times a second, opens a new connection each second, and reports both durations. */
import { setPriority } from "node:os";
import { connect } from "@svc/sdk/client";
import { health } from "@svc/sdk/health";
import type { Target } from "./target.ts";

/** Durations in one phase, in milliseconds; a failed call is only counted in `failures`. */
export interface Watched {
  readonly calls: readonly number[];
  readonly connects: readonly number[];
  readonly failures: readonly string[];
}

const CALL_MS = 50;
const CONNECT_MS = 1_000;
/** A call that takes longer counts as failed. */
const PATIENCE_MS = 30_000;

const { url, token } = JSON.parse(process.argv[2] ?? "") as Target;
try {
  setPriority(-10); // it should wait for the gateway, not for the processor
} catch {
  // only the superuser may raise a priority
}
process.once("disconnect", () => process.exit(0));
const client = await connect({ url, token });
let calls: number[] = [];
let connects: number[] = [];
let failures: string[] = [];
const pending = new Set<Promise<void>>();

function time(work: () => Promise<unknown>, into: number[]): void {
  const begun = performance.now();
  const done = work()
    .then(
      () => void into.push(performance.now() - begun),
      (error: unknown) => void failures.push(error instanceof Error ? error.message : String(error)),
    )
    .finally(() => pending.delete(done));
  pending.add(done);
}

const callTimer = setInterval(
  () => time(() => client.call(health.check, {}, { timeoutMs: PATIENCE_MS }), calls),
  CALL_MS,
);
const connectTimer = setInterval(
  () => time(async () => (await connect({ url, token, connectTimeoutMs: PATIENCE_MS })).close(), connects),
  CONNECT_MS,
);

/** Each message ends a phase and begins the next. */
process.on("message", () => {
  const begun = [...pending];
  const watched = { calls, connects, failures };
  [calls, connects, failures] = [[], [], []];
  void Promise.all(begun).then(() => process.send?.(watched satisfies Watched));
});
process.once("SIGTERM", () => {
  clearInterval(callTimer);
  clearInterval(connectTimer);
  process.exit(0);
});
process.send?.({ calls, connects, failures } satisfies Watched);
