/** A few seconds of hostile clients: another client is served throughout, and memory stays bounded. Long version: `npm run hostile`. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { BEHAVIOURS } from "../bench/hostile/behaviours.ts";
import { type PhaseFigures, runCampaign } from "../bench/hostile/campaign.ts";

/** Printed with every failure, to reproduce it. */
const SEED = Number(process.env["SVC_HOSTILE_SEED"] ?? Date.now() % 2_147_483_647);
/** MiB: several times the combined limit of unread responses, messages in transit and bodies. */
const MOST_MIB = 1_536;

it(`hostile clients neither stop another client nor fill the memory (seed ${SEED})`, { timeout: 180_000 }, async () => {
  const names = Object.keys(BEHAVIOURS);
  const phases = names.map((name) => ({ name, ms: 600 }));
  const seen: PhaseFigures[] = [];
  await runCampaign({ seed: SEED, phases, restMs: 0, onPhase: (figures) => void seen.push(figures) });
  assert.deepEqual(
    seen.map(({ name }) => name),
    names,
  );
  for (const { name, failures, calls, rssMost } of seen) {
    assert.deepEqual(failures, [], name);
    assert.ok(calls > 0, `${name}: health was not answered`);
    assert.ok(rssMost < MOST_MIB, `${name}: ${Math.round(rssMost)} MiB`);
  }
});
