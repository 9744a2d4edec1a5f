/** The newest command line of an existing client, on this gateway. Spec: protocol 4 §4.1. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { withNewest, withoutNewest } from "./newest.ts";

/** Each command and what it prints. `$` is the id of the job that was added. */
const COMMANDS: readonly (readonly [line: string, prints: RegExp])[] = [
  ["health", /Agents: main/],
  ["status", /reachable/],
  ["status --all", /reachable/],
  ["gateway status", /Connectivity probe: ok/],
  ["gateway probe", /Reachable: yes/],
  ["gateway usage-cost", /Usage cost/],
  ["gateway call health", /"ok": true/],
  ["agent --agent main --message echo-it --json", /"status": "ok"/],
  ["cron status", /"jobs": 1/],
  ["cron list", /every 1h/],
  ["cron list --all --json", /"snapshotRevision"/],
  ["cron show $", /hourly/],
  ["cron edit $ --name daily", /daily/],
  ["cron disable $", /"enabled": false/],
  ["cron enable $", /"enabled": true/],
  ["cron run $", /"ok": true/],
  ["cron runs --id $", /"entries"/],
  ["cron rm $", /"removed": true/],
  ["channels status", /Gateway reachable/],
  ["logs --limit 5", /Log file:/],
  ["devices list", /No device pairing entries/],
  ["nodes list", /Paired: 0/],
  ["nodes status", /Connected: 0/],
  ["skills list", /git-summary/],
  ["system event --text hello --mode now", /ok/],
  ["system presence", /"host"/],
  ["system heartbeat last", /null|\{/],
  ["secrets reload", /reload/i],
];

it("runs every command that needs a gateway", { skip: withoutNewest, timeout: 1_800_000 }, async (t) => {
  const { run } = await withNewest(t);
  const job =
    "cron add --agent main --name hourly --every 1h --message echo --session isolated --no-deliver --json".split(" ");
  const { id } = JSON.parse(await run(...job)) as { readonly id: string };
  for (const [line, prints] of COMMANDS)
    await t.test(line, async () => assert.match(await run(...line.replace("$", id).split(" ")), prints));
});

it("names an unknown method as such", { skip: withoutNewest, timeout: 300_000 }, async (t) => {
  const { run } = await withNewest(t);
  await assert.rejects(run("gateway", "call", "nosuch.method"), /unknown method: nosuch\.method/);
});
