/** Which channel a request means, while plugins are loading and afterwards. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Contribution } from "@svc/sdk";
import type { Channel } from "@svc/sdk/channels";
import type { PluginReport } from "@svc/sdk/plugins";
import { createFakeClock } from "@svc/sdk/testing";
import { ChannelAccounts } from "../../../plugins/channels/accounts/channel-accounts.ts";
import { OwnedAccounts } from "../../../plugins/channels/accounts/owned-accounts.ts";

const NOW = 1_000_000;
const dove = { id: "dove", plugin: "dove", value: { label: "Dove", accounts: [{ id: "default" }] } };

function accountsWith(reports: readonly Partial<PluginReport>[], listed: readonly object[]): ChannelAccounts {
  return new ChannelAccounts({
    view: {
      list: () => listed as readonly Contribution<Channel>[],
      get: () => undefined,
      call: (one, work) => work(one.value),
    },
    transports: { list: () => [], get: () => undefined, call: (one, work) => work(one.value) },
    host: { plugins: () => reports as readonly PluginReport[] },
    clock: createFakeClock(NOW),
    log: { info: () => undefined, warn: () => undefined },
    random: () => 0.5,
    receive: async () => ({ accepted: false, reason: "empty" }),
    connected: () => undefined,
    state: () => ({ read: async () => undefined, write: async () => undefined }),
    commands: () => [],
    owned: new OwnedAccounts(),
  });
}

describe("a channel that is not there", () => {
  const channels = { id: "channels", state: "active" };
  const notFound = (message: RegExp) => ({ code: "NOT_FOUND", message });
  const pending = { id: "dove", state: "pending", retryAt: NOW + 5_000 } as const;
  const soon = { code: "UNAVAILABLE", message: /is pending: the port is taken$/, retryAfterMs: 5_000 };
  const failed = { id: "dove", state: "failed", reason: "no token" } as const;
  const why = /its plugin is failed: no token; see: svc plugins why dove$/;
  const rows: [what: string, reports: Partial<PluginReport>[], name: string | undefined, refusal: object][] = [
    ["is not found", [channels], "dove", notFound(/^unknown channel "dove"; no channel is loaded/)],
    ["is not configured", [channels], undefined, { code: "INVALID_REQUEST", message: /^no channel is configured/ }],
    ...["described", "staged", "starting", "reloading"].flatMap((state): typeof rows =>
      ["dove", undefined].map((name) => [
        `may come while a plugin is ${state}${name === undefined ? ", without a name" : ""}`,
        [channels, { id: "dove", state }],
        name,
        { code: "UNAVAILABLE", message: /plugins are loading: dove$/, retryAfterMs: 1_000 },
      ]),
    ),
    [
      "may come with the next attempt of its plugin",
      [channels, { ...pending, reason: "the port is taken" }],
      "Dove",
      soon,
    ],
    ["is not found when its plugin waits for a person, with what to do", [channels, failed], "dove", notFound(why)],
    [
      "is not found while another plugin is tried again",
      [channels, { ...pending, id: "cron" }],
      "dove",
      notFound(/dove/),
    ],
  ];
  for (const [what, reports, name, refusal] of rows)
    it(what, () => assert.throws(() => accountsWith(reports, [dove]).chosen(name), refusal));

  it("is there once its plugin is active, whatever else loads", () => {
    const reports = [
      { id: "dove", state: "active" },
      { id: "other", state: "starting" },
    ];
    for (const name of ["dove", undefined]) assert.equal(accountsWith(reports, [dove]).chosen(name).id, "dove");
  });
});
