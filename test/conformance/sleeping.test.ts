/** Bundled plugins that the gateway imports at its start because of their own declarations; all others sleep until use. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";

const PLUGINS = "plugins";

const AT_START =
  "agents approvals channels chat cron devices health heartbeat memory nodes secrets sessions storage-postgres storage-sqlite update watchdog webhook-agent webhook-signatures webhook-wake webhooks workspace";

it("only plugins that have work at the start are imported there", () => {
  const reasons = readdirSync(PLUGINS).flatMap((id) => {
    const file = join(PLUGINS, id, "dist/declared.json");
    if (!existsSync(file)) return [];
    const { awake } = JSON.parse(readFileSync(file, "utf8")) as { readonly awake?: string };
    return awake === undefined ? [] : [{ id, awake }];
  });
  assert.deepEqual(
    reasons.map(({ id }) => id),
    AT_START.split(" "),
    JSON.stringify(reasons, undefined, 2),
  );
});
