import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { strangersInMain } from "../../../plugins/channels/config-warnings.ts";

const open = { allowFrom: ["ann", " * "] };

describe("direct messages of everybody in one session", () => {
  const configs: [what: string, config: object, paths: string[]][] = [
    ["a channel", { channels: { irc: open, other: { allowFrom: ["ann"] } } }, ["channels.irc.allowFrom"]],
    ["an account", { channels: { irc: { accounts: { work: open } } } }, ["channels.irc.accounts.work.allowFrom"]],
    ["a listed account", { channels: { irc: { accounts: [{}, open] } } }, ["channels.irc.accounts[1].allowFrom"]],
    ["none, for each peer has a session", { session: { dmScope: "per-peer" }, channels: { irc: open } }, []],
    ["none without channels", {}, []],
  ];
  for (const [what, config, paths] of configs) {
    it(`are warned about: ${what}`, () => {
      const found = strangersInMain({ config: { session: { dmScope: "main" }, ...config }, contributions: () => [] });
      assert.deepEqual(
        found.map(({ path }) => path),
        paths,
      );
      for (const { message } of found)
        assert.match(message, /^anyone may write .*; next: svc config set session\.dmScope /);
    });
  }
});
