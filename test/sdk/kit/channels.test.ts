import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AccountConfig, accountsOf } from "@svc/kit/channels";
import { Type } from "@svc/sdk";

const fields = { token: Type.Optional(Type.String()) };
type Section = Parameters<typeof accountsOf<typeof fields, { token: string | undefined }>>[0];

function read(section: Section) {
  return accountsOf(section, ({ token }: AccountConfig<typeof fields>) => ({
    isConfigured: token !== undefined,
    settings: { token },
  }));
}

describe("accounts of a channel section", () => {
  it("are the section itself without `accounts`", () => {
    const [own, ...more] = read({ token: "t", name: "Main", allowFrom: ["ann"], mediaMaxMb: 0.5 });
    assert.deepEqual(more, []);
    assert.deepEqual(own, {
      id: "default",
      name: "Main",
      enabled: true,
      configured: true,
      allowFrom: ["ann"],
      groups: [],
      mentionByGroup: {},
      toolsByGroup: {},
      maxMediaBytes: 500_000,
      settings: { token: "t" },
    });
  });

  it("inherit the section's keys but its name, and list the section only if it is configured itself", () => {
    const accounts = { work: { token: "w", dmPolicy: "disabled" as const }, idle: { enabled: false } };
    const named = read({ name: "Main", allowFrom: ["ann"], defaultAccount: "work", accounts });
    assert.deepEqual(
      named.map(({ id, name, enabled, configured, isDefault }) => ({ id, name, enabled, configured, isDefault })),
      [
        { id: "work", name: undefined, enabled: true, configured: true, isDefault: true },
        { id: "idle", name: undefined, enabled: false, configured: false, isDefault: undefined },
      ],
    );
    assert.deepEqual(
      named.map(({ dmPolicy, allowFrom }) => [dmPolicy, allowFrom]),
      [
        ["disabled", ["ann"]],
        [undefined, ["ann"]],
      ],
    );
    const both = read({ token: "t", accounts: { work: {} } });
    assert.deepEqual(
      both.map(({ id, settings }) => [id, settings.token]),
      [
        ["default", "t"],
        ["work", "t"],
      ],
    );
  });

  it("name senders of tool rules by id", () => {
    const toolsBySender = { "id:7": { deny: ["exec"] }, eight: { allow: ["read"] }, "*": { deny: ["*"] } };
    const [own] = read({ groups: { "#team": { requireMention: false, toolsBySender } } });
    assert.deepEqual(own?.groups, ["#team"]);
    assert.deepEqual(own?.mentionByGroup, { "#team": false });
    const bySender = { "7": { deny: ["exec"] }, eight: { allow: ["read"] }, "*": { deny: ["*"] } };
    assert.deepEqual(own?.toolsByGroup, { "#team": { bySender } });
  });

  const refused: readonly [section: Section, path: string, message: RegExp][] = [
    [{ dmPolicy: "open" }, "/dmPolicy", /confirm it with allowFrom/],
    [{ accounts: { work: { dmPolicy: "open" } } }, "/accounts/work/dmPolicy", /confirm it with allowFrom/],
    [{ mentionPatterns: ["ok", "(open"] }, "/mentionPatterns/1", /not a regular expression/],
    [
      { groups: { "#team": { toolsBySender: { "name:Ann": {} } } } },
      "/groups/#team/toolsBySender/name:Ann",
      /known by their id only/,
    ],
  ];
  for (const [section, path, message] of refused)
    it(`refuse ${path}`, () => {
      assert.throws(() => read(section), { name: "SetupOutcome", path, message });
    });
});
