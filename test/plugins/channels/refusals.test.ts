/** Who is notified of refused messages, and how often. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ChannelAccess, ChannelAccountSnapshot, channels } from "@svc/sdk/channels";
import type { ResultOf } from "@svc/sdk";
import { createFakeClock } from "@svc/sdk/testing";
import { findingsOf, statusLines } from "../../../plugins/channels/cli/text.ts";
import { MAX_SENDERS, QUIET_MS, Refusals } from "../../../plugins/channels/access/refusals.ts";

const account = { id: "default", allowFrom: [], settings: {} };
const from = (id: string) => ({ chat: { type: "direct", id }, sender: { id } }) as const;

function scene() {
  const clock = createFakeClock();
  const lines: object[] = [];
  const refusals = new Refusals({ clock, log: { info: (fields: object) => void lines.push(fields) } });
  return { clock, lines, refusals };
}

describe("a refused message", () => {
  it("is logged once an hour for each sender, and counted each time", async () => {
    const { clock, lines, refusals } = scene();
    for (let turn = 0; turn < 3; turn++) refusals.refused("irc", account, from("bob!~bob@127.0.0.1"));
    const next = `svc config set channels.irc.allowFrom '["bob!~bob@127.0.0.1"]'`;
    const who = { channel: "irc", account: "default", who: "bob!~bob@127.0.0.1", why: "not in allowFrom", next };
    assert.deepEqual(lines, [who]);
    assert.equal(refusals.of("irc", "default").refusedInbound, 3);
    await clock.advance(QUIET_MS);
    refusals.refused("irc", account, from("bob!~bob@127.0.0.1"));
    assert.equal(lines.length, 2);
  });

  const team = { chat: { type: "group", id: "#team" }, sender: { id: "bob" } } as const;
  const causes: [ChannelAccess, Parameters<Refusals["refused"]>[2], why: string, next: string][] = [
    [{ dmPolicy: "disabled" }, from("bob"), "dmPolicy is disabled", "channels.irc.dmPolicy pairing"],
    [{ groupPolicy: "disabled" }, team, "groupPolicy is disabled", "channels.irc.groupPolicy allowlist"],
    [{ groups: ["#other"] }, team, "not in groups", `channels.irc.groups '["#other","#team"]'`],
    [{ mentionByGroup: {} }, team, "not in groups", `'channels.irc.groups.#team' '{}'`],
    [
      { groups: ["#team"], groupAllowFrom: ["ann"] },
      team,
      "not in groupAllowFrom",
      `channels.irc.groupAllowFrom '["ann","bob"]'`,
    ],
  ];
  for (const [access, message, why, next] of causes)
    it(`says why and what lets its sender in: ${why}, ${next}`, () => {
      const { refusals } = scene();
      refusals.refused("irc", { id: "default", settings: {}, ...access }, message);
      const last = refusals.of("irc", "default").lastRefusedInbound;
      assert.deepEqual([last?.why, last?.next], [why, `svc config set ${next}`]);
    });

  it("of one of many senders floods neither the log nor the memory", () => {
    const { lines, refusals } = scene();
    for (let turn = 0; turn < 10 * MAX_SENDERS; turn++) refusals.refused("irc", account, from(`bot${turn}`));
    assert.equal(lines.length, MAX_SENDERS);
    assert.equal(refusals.of("irc", "default").refusedInbound, 10 * MAX_SENDERS);
  });

  it("is shown with what lets its sender in; a doctor sees what does not work", () => {
    const { refusals } = scene();
    for (let turn = 0; turn < 3; turn++) refusals.refused("irc", account, from("bob!~bob@127.0.0.1"));
    const snapshot: ChannelAccountSnapshot = {
      accountId: "default",
      connected: false,
      lastError: "connection refused",
      failedOutbound: 2,
      lastFailedOutbound: "ann has left",
      warnings: [{ message: "strangers", next: "svc config set x y" }],
      ...refusals.of("irc", "default"),
    };
    const shown = { channelOrder: ["irc"], channelLabels: {}, channelAccounts: { irc: [snapshot] } };
    const status = shown as unknown as ResultOf<typeof channels.status>; // the parts that are shown
    const lines = statusLines(status).join("\n");
    assert.match(
      lines,
      /REFUSED 3, last: bob!~bob@127\.0\.0\.1 \(not in allowFrom\)\nNext: svc config set channels\.irc/,
    );
    const findings = findingsOf(status).map(({ message }) => message);
    const unsent = "2 texts could not be sent; last reason: ann has left";
    assert.deepEqual(findings, ["it is not connected: connection refused", unsent, "strangers"]);
  });
});
