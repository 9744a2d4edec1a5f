/** The contract of a channel, with a visitor who connects again whenever the account runs. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { channelContract } from "@svc/sdk/testing";
import { hashOf } from "../../../plugins/webchat/store.ts";
import { scene } from "./scene.ts";
import { patientVisitor } from "./visitor.ts";

const TOKEN = "a-token-for-the-contract";

it("keeps the contract of a channel", async (t) => {
  const { channel, http } = await scene(t, { knownVisitors: { ada: hashOf(TOKEN) } });
  const visitor = patientVisitor(t, TOKEN);
  visitor.goTo(http);
  const now = () => [...visitor.shown.values()].filter(({ from }) => from === "agent");
  await channelContract(t, {
    channel,
    network: {
      says: (text) => visitor.says(text),
      repeats: () => visitor.repeats(),
      heard: () => visitor.heard.map(({ text }) => text),
      evidence: {
        edits: () => visitor.heard.map(({ text }) => text),
        typing: () => Array.from({ length: visitor.typings() }, () => "typing"),
        media: () => now().flatMap(({ file }) => (file ? [file.name] : [])),
        buttons: () => now().flatMap(({ buttons = [] }) => buttons.flat().map(({ label }) => label)),
      },
    },
    targets: ["ada", "user:ada", "0123456789abcdef0123456789abcdef"],
    garbage: ["bob", "user:bob", "@ada", "*", "0123456789abcdef"],
  });
});

it("each visitor has a session of their own, and may write by default", async (t) => {
  const { channel } = await scene(t);
  assert.equal(channel.capabilities.ownSessions, true);
  const [account] = channel.accounts;
  assert.deepEqual([account?.dmPolicy, account?.allowFrom], ["open", ["*"]]);
  const closed = await scene(t, { dmPolicy: "allowlist" });
  assert.deepEqual(
    [closed.channel.accounts[0]?.dmPolicy, closed.channel.accounts[0]?.allowFrom],
    ["allowlist", undefined],
  );
});
