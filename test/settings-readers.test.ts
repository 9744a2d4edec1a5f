/**
 * Every accepted setting has an effect: each session key that `sessions.patch` accepts, and each configuration key, is read
 * somewhere in the product, in addition to the places that declare, check or show it.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { config } from "@svc/sdk/config";
import { sessions } from "@svc/sdk/sessions";
import { testGateway } from "@svc/sdk/testing";
import { root } from "./checkout.ts";
import { bundlePlugins } from "./conformance/config-bundle.ts";
import { NO_EFFECT_SEEN } from "./conformance/config-cases.ts";
import { leavesOf, type Node } from "./conformance/config-leaves.ts";
import { codeOf, readsProperty, sourcesBelow } from "./source-reads.ts";

const sources = new Map(
  ["sdk", "host", "plugins"]
    .flatMap(sourcesBelow)
    .map((path) => [path, codeOf(readFileSync(join(root, path), "utf8"))]),
);

function readersOf(key: string, within: (path: string) => boolean): string[] {
  return [...sources].flatMap(([path, code]) => (within(path) && readsProperty(code, key) ? [path] : []));
}

describe("what counts as reading a property", () => {
  const reads = [
    "entry.key",
    "entry?.key ?? 1",
    'entry["key"]',
    "const { a, key } = entry;",
    "const { key: other = 1 } = entry;",
    "for (const { key } of all) {}",
    "const { entry: { key } } = all;",
    "function f({ key }: Entry) {}",
    "const f = ({ key }) => key;",
    "const o = { run({ a, key }, { b }) { return key; } };",
    "if (entry.key === 1) {}",
  ];
  const others = [
    "const entry = { key };",
    "const entry = { key: 1 };",
    "f({ key }, 1);",
    "entry.key = 1;",
    'entry["key"] = 1;',
    'const FIELDS = ["key"];',
    "interface Entry { readonly key: string }",
    "Type.Object({ key: Type.String() })",
    "// entry.key",
    "/** entry.key */",
    "entry.keys",
    "monkey.monkey",
  ];
  for (const code of reads) it(`${code}: it is`, () => assert.equal(readsProperty(codeOf(code), "key"), true));
  for (const code of others) it(`${code}: it is not`, () => assert.equal(readsProperty(codeOf(code), "key"), false));
});

describe("a key of a session that sessions.patch accepts", () => {
  /** Places that declare, check, store or show a key: reading it there has no effect. */
  const SHOWN =
    /^(?:sdk\/(?:sessions|cli)\/|plugins\/[^/]+\/cli|plugins\/sessions\/methods\.ts|plugins\/sessions\/(?:patching|finding)\/|plugins\/sessions\/store\/entries\.ts|plugins\/health\/)/;
  /** Keys stored under another name, or read in a place that also shows them: the field and the file. */
  const STORED: Readonly<Record<string, { readonly field?: string; readonly file: string }>> = {
    model: { field: "modelOverride", file: "plugins/agents/runs/options.ts" },
    label: { file: "plugins/sessions/finding/resolving.ts" },
    // Marks of people are for lists, and conditions are for the patch itself.
    pinned: { file: "plugins/sessions/patching/marks.ts" },
    expectedSessionId: { file: "plugins/sessions/patching/marks.ts" },
    expectedMarkedUnreadAt: { file: "plugins/sessions/patching/marks.ts" },
  };
  const params = sessions.patch.params as unknown as {
    readonly properties: Readonly<Record<string, { readonly description?: string }>>;
  };
  /** All but those that are refused: test/plugins/sessions/patching/marks.test.ts. */
  const keys = Object.entries(params.properties).flatMap(([key, { description = "" }]) =>
    key === "key" || description.startsWith("not supported") ? [] : [key],
  );

  for (const key of keys) {
    it(`${key} is read`, () => {
      const { field = key, file } = STORED[key] ?? {};
      if (file === undefined)
        return assert.notDeepEqual(
          readersOf(field, (path) => !SHOWN.test(path)),
          [],
        );
      return assert.ok(readersOf(field, (path) => path === file).length > 0, `${file} does not read ${field}`);
    });
  }

  it("has an entry in the table only if it exists", () => {
    assert.ok(keys.length > 10);
    for (const key of Object.keys(STORED)) assert.ok(keys.includes(key), key);
  });
});

describe("a key of the configuration", { timeout: 120_000 }, () => {
  /**
   * Keys read by a computed name, and keys whose schema accepts only the value without an effect: the file that reads them, and a text in it.
   * A key that ends in a dot stands for all keys below.
   */
  const ELSEWHERE: Readonly<Record<string, readonly [file: string, text: string]>> = {
    ...Object.fromEntries(
      ["account", "topic", "label", "subscription", "pushToken", "hookUrl"]
        .concat(["includeBody", "maxBytes", "renewEveryMinutes", "serve", "tailscale"])
        .map((key) => [`hooks.gmail.${key}`, ["plugins/preset-gmail/config.ts", `${key}: watcher(`] as const]),
    ),
    "hooks.mappings[].messageTemplate": ["plugins/webhook-agent/plugin.ts", 'message: "messageTemplate"'],
    "hooks.mappings[].textTemplate": ["plugins/webhook-wake/plugin.ts", 'text: "textTemplate"'],
    "agents.list[].identity.theme": ["plugins/agents/directory/identity.ts", 'const FIELDS = ["name", "theme"'],
    ...Object.fromEntries(
      ["talk.providers.", "talk.voiceId", "talk.voiceAliases.", "talk.modelId", "talk.outputFormat"].map(
        (key) => [key, ["plugins/talk/settings.ts", "interruptOnSpeech, ...flat }: TalkConfig"]] as const,
      ),
    ),
    "ui.seamColor": ["plugins/talk/settings.ts", "config.ui.seamColor"],
    "secrets.defaults.": ["plugins/secrets/config.ts", "Record<string, string>> = defaults"],
    "models.discovery.": ["plugins/models/catalogue/servers.ts", '["ollama", "lmstudio"] as const'],
    "models.providers.*.auth": ["plugins/models/config.ts", '(auth) => auth === "api-key"'],
    "models.providers.*.injectNumCtxForOpenAICompat": ["plugins/models/config.ts", "() => NO_NUM_CTX"],
    "wizard.": ["plugins/wizard/wizard.ts", 'lastRunMode: "local"'], // written for people
    "models.bedrockDiscovery.enabled": ["plugins/models/config.ts", "() => NO_DISCOVERY"],
  };
  /** Keys that are read outside of their owner, and the path prefix of the readers. The first match counts. */
  const READERS: readonly (readonly [keys: RegExp, start: string])[] = [
    [/^gateway\.http\.endpoints\.responses\.files\.pdf\./, "plugins/media/"],
    [/^gateway\.http\.endpoints\./, "sdk/kit/"],
    [/^agents\..+\.heartbeat\.|^agents\.list\[\]\.heartbeat\.|^channels\.defaults\.heartbeat\./, "plugins/heartbeat/"],
    [/^agents\..*\bmemorySearch\./, "plugins/memory/"],
    [/^channels\..*\.(?:tools|toolsBySender\.\*)\./, "plugins/tools/"],
    [/^channels\.(?!defaults\.)/, "sdk/kit/channels/"],
    [/\.sandbox\./, "sdk/kit/exec/sandbox/"],
    [/^agents\.list\[\]\.tools\./, "plugins/tools/"],
    [/^hooks\.mappings\[\]\./, "plugins/webhook-"],
    [/^models\.providers\.\*\.models\[\]\./, "plugins/provider-"],
    [/\.(?:source|provider|id)$/, "plugins/secrets/"],
  ];
  const covers = (key: string, path: string) => (key.endsWith(".") ? path.startsWith(key) : path === key);

  it("is read by its owner, or where the table says", async (t) => {
    const { client } = await testGateway(t);
    const { ownerOf } = await bundlePlugins();
    const leaves = leavesOf((await client.call(config.schema, {})).schema as Node);
    const paths = [...new Set(leaves.map(({ path }) => path))];
    assert.ok(paths.length > 200);
    /** Only one value is valid, so nothing has to read it. */
    const isFixed = ({ const: only, enum: words, items }: Node): boolean =>
      only !== undefined || words?.length === 1 || (items !== undefined && isFixed(items));
    const unread: string[] = [];
    for (const leaf of leaves) {
      const { path, keys } = leaf;
      if (isFixed(leaf.node) || Object.keys(ELSEWHERE).some((key) => covers(key, path))) continue;
      if (/^(?:accepted without effect|for people)/.test(NO_EFFECT_SEEN[path] ?? "")) continue;
      const name = keys.findLast((key) => key !== "*" && key !== "[]") ?? "";
      const owner = ownerOf(path.replaceAll("[]", ""));
      const own = owner === undefined ? "host/" : `plugins/${owner}/`;
      const other = READERS.find(([of]) => of.test(path))?.[1] ?? own;
      const isRead = readersOf(name, (file) => file.startsWith(own) || file.startsWith(other)).length > 0;
      if (!isRead) unread.push(`${path} (by ${own} or ${other})`);
    }
    assert.equal(unread.join("\n"), "");
    for (const [of] of READERS)
      assert.ok(
        paths.some((path) => of.test(path)),
        `${of.source} matches no key`,
      );
    for (const [key, [file, text]] of Object.entries(ELSEWHERE)) {
      assert.ok(
        paths.some((path) => covers(key, path)),
        `${key} is not a key`,
      );
      assert.ok(sources.get(file)?.includes(text), `${file} does not have ${text}, for ${key}`);
    }
  });
});
