import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionEntry } from "@svc/sdk/sessions";
import type { SendPolicySetting } from "../../../../plugins/sessions/config.ts";
import { sendPolicyOf } from "../../../../plugins/sessions/keys-routing/send-policy.ts";

const KEY = "agent:main:irc:group:1";
const denied = (match: object) => ({ action: "deny", match }) as const;
const allowed = (match?: object) => ({ action: "allow", ...(match && { match }) }) as const;
const deny = (match: object): SendPolicySetting => ({ rules: [denied(match)] });

describe("the send policy", () => {
  type Row = [
    what: string,
    setting: SendPolicySetting | undefined,
    key: string,
    entry: Partial<SessionEntry>,
    is: string,
  ];
  const irc = { channel: "irc" };
  const rows: Row[] = [
    ["nothing is configured", undefined, KEY, {}, "allow"],
    ["by the default", { default: "deny" }, KEY, {}, "deny"],
    ["by the entry, despite the rules", deny({}), KEY, { sendPolicy: "allow" }, "allow"],
    ["the entry forbids it", undefined, KEY, { sendPolicy: "deny" }, "deny"],
    ["a rule for all", deny({}), KEY, {}, "deny"],
    ["a rule without match", { rules: [{ action: "deny" }] }, KEY, {}, "deny"],
    [
      "a rule that allows against the default",
      { default: "deny", rules: [allowed({ channel: "IRC" })] },
      KEY,
      {},
      "allow",
    ],
    ["a denial before an allowance", { rules: [denied(irc), allowed()] }, KEY, {}, "deny"],
    ["a denial after an allowance", { rules: [allowed(), denied(irc)] }, KEY, {}, "deny"],
    ["another channel", deny({ channel: "sms" }), KEY, {}, "allow"],
    ["the channel of the entry over that of the key", deny({ channel: "sms" }), KEY, { channel: "sms" }, "deny"],
    ["the last channel of a session", deny({ channel: "sms" }), "agent:main:main", { lastChannel: "sms" }, "deny"],
    ["a chat type", deny({ chatType: "group" }), KEY, {}, "deny"],
    ["another chat type", deny({ chatType: "channel" }), KEY, {}, "allow"],
    ["the old word dm", deny({ chatType: "dm" }), "agent:main:irc:direct:b", {}, "deny"],
    ["the old word dm in a key", deny({ chatType: "direct" }), "agent:main:irc:dm:b", {}, "deny"],
    ["a prefix of the short key", deny({ keyPrefix: "IRC:group:" }), KEY, {}, "deny"],
    ["a prefix of the whole key", deny({ keyPrefix: "agent:main:irc" }), KEY, {}, "deny"],
    ["another prefix", deny({ keyPrefix: "cron:" }), KEY, {}, "allow"],
    ["a raw prefix of the whole key", deny({ rawKeyPrefix: "agent:main:irc" }), KEY, {}, "deny"],
    ["a raw prefix of the short key", deny({ rawKeyPrefix: "irc:group:" }), KEY, {}, "allow"],
    ["one of two conditions", deny({ channel: "irc", chatType: "direct" }), KEY, {}, "allow"],
    ["both conditions", deny({ channel: "irc", chatType: "group" }), KEY, {}, "deny"],
  ];
  for (const [what, setting, key, entry, policy] of rows) {
    it(`is ${policy}: ${what}`, () => assert.equal(sendPolicyOf(setting, key, entry), policy));
  }
});
