/** People whom a code let in, and `allowFrom` of their channels. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createDraft } from "../../../../plugins/import/openclaw/config-draft.ts";
import { openDatabases } from "../../../../plugins/import/openclaw/database.ts";
import { addPeople, letInByDatabase, letInByFiles, peopleItem } from "../../../../plugins/import/openclaw/people.ts";
import { stateFiles } from "../../../../plugins/import/openclaw/state-files.ts";
import { directory, put } from "../../../directory.ts";
import { row, small } from "../../../openclaw-databases.ts";

const TELEGRAM = { channel: "telegram", accountId: "default", people: ["tg:111", "222"] };

/** `channels` with the people. */
function added(channels: object, one: object = {}) {
  const draft = createDraft({ channels });
  addPeople(draft, [{ ...TELEGRAM, ...one }]);
  return draft.config["channels"];
}

describe("letInByFiles", () => {
  it("reads one file of each account, without `*`; a damaged one has nobody", async (t: TestContext) => {
    const state = directory(t);
    for (const [name, text] of [
      ["telegram-allowFrom.json", '{"version":1,"allowFrom":["111","*"]}'],
      ["telegram-my-work-allowFrom.json", '{"version":1,"allowFrom":["222"]}'],
      ["signal-allowFrom.json", '["a"]'],
      ["irc-allowFrom.json", "{ damaged"],
      ["slack-pairing.json", '{"requests":[]}'],
    ] as const)
      put(join(state, "credentials", name), text, 0o600);
    assert.deepEqual(await letInByFiles(stateFiles(state)), [
      { channel: "signal", accountId: "default", people: ["a"] },
      { channel: "telegram", accountId: "default", people: ["111"] },
      { channel: "telegram", accountId: "my-work", people: ["222"] },
    ]);
  });
});

describe("letInByDatabase", () => {
  it("reads the people of each account, without `*`", async (t) => {
    const entry = (channel_key: string, account_id: string, id: string) =>
      row("channel_pairing_allow_entries", { channel_key, account_id, entry: id });
    const global =
      entry("telegram", "default", "111") + entry("signal", "work", "a") + entry("telegram", "default", "222");
    const databases = await openDatabases(stateFiles(small(t, { global })), false);
    t.after(() => databases.close());
    assert.deepEqual(letInByDatabase(databases.state), [
      { channel: "telegram", accountId: "default", people: ["111", "222"] },
      { channel: "signal", accountId: "work", people: ["a"] },
    ]);
  });
});

describe("addPeople", () => {
  it("adds ids in the notation of the plugin, each once", () => {
    assert.deepEqual(added({ telegram: { allowFrom: ["222", "333"] } }), {
      telegram: { allowFrom: ["222", "333", "111"] },
    });
  });

  it("keeps the people that an account inherits", () => {
    const accounts = { work: { name: "w" } };
    assert.deepEqual(added({ telegram: { allowFrom: ["9"], accounts } }, { accountId: "Work" }), {
      telegram: { allowFrom: ["9"], accounts: { work: { name: "w", allowFrom: ["9", "111", "222"] } } },
    });
  });

  for (const channels of [
    { telegram: { dmPolicy: "allowlist" } },
    { telegram: { dmPolicy: "open" } },
    { telegram: { accounts: { default: { dmPolicy: "disabled" } } } },
    { signal: {} },
  ])
    it(`adds nobody to ${JSON.stringify(channels)}`, () => {
      assert.deepEqual(added(channels), channels);
    });
});

describe("peopleItem", () => {
  it("says where they are now, or what lets them in", () => {
    const isIn = peopleItem(TELEGRAM, { channels: { telegram: { allowFrom: ["111", "222"] } } });
    assert.deepEqual(
      [isIn.action, isIn.reason],
      ["convert", "2 people were let in by code; they are in channels.telegram.allowFrom"],
    );
    const isOut = peopleItem(TELEGRAM, { channels: { telegram: { allowFrom: ["111"] } } });
    assert.equal(isOut.action, "drop");
    assert.match(isOut.next ?? "", /^repeat the import with --people, add them to channels\.telegram\.allowFrom/);
    assert.doesNotMatch(JSON.stringify([isIn, isOut]), /111/);
  });
});
