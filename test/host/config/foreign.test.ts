/** Keys of existing configurations: each is known, accepted without effect, refused, or in a section without an owner. Spec: http/config-keys.md. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { loadOwners } from "../../../host/cli/config/owners.ts";
import { givenConfig } from "../../../host/config/file.ts";
import { UNPROTECTED, WITHOUT_EFFECT } from "../../../host/config/foreign-keys.ts";
import { isUnprotected, isWithoutEffect, withoutForeign } from "../../../host/config/foreign.ts";
import { resolvePaths } from "../../../host/config/paths.ts";
import { composeSchema, configIssues, type SectionOwner, unownedKeys } from "../../../host/config/sections.ts";
import { root } from "../../checkout.ts";

type Node = Readonly<Record<string, unknown>>;

const KEYS = readFileSync(join(root, "test/host/config/existing-keys.txt"), "utf8").trimEnd().split("\n");

/** Keys that a schema names and refuses. */
const NAMED_BY_SCHEMA = /^hooks\.gmail\.(serve|tailscale)\b/;

const partsOf = (key: string) => key.replaceAll("[]", ".[]").split(".");

/** The node and the members of its unions. */
const choices = (node: unknown): Node[] => {
  if (typeof node !== "object" || node === null) return [];
  const all = node as Node;
  return [all, ...["anyOf", "oneOf", "allOf"].flatMap((word) => ((all[word] ?? []) as unknown[]).flatMap(choices))];
};

function below(node: Node, part: string): unknown[] {
  if (part === "[]") return node["items"] ? [node["items"]] : [];
  const named = ((node["properties"] ?? {}) as Node)[part];
  if (named !== undefined) return [named];
  const patterns = Object.entries((node["patternProperties"] ?? {}) as Node);
  const matching = patterns.filter(([pattern]) => part === "*" || new RegExp(pattern).test(part));
  const rest = node["additionalProperties"];
  const isBare = rest === undefined && node["type"] === "object" && patterns.length === 0 && !node["properties"];
  const isOpen = rest === true || isBare;
  return [...matching.map(([, schema]) => schema), ...(typeof rest === "object" ? [rest] : isOpen ? [{}] : [])];
}

/** Whether a schema covers the key; keys inside a value of any type count as known. */
function isKnown(schema: unknown, parts: readonly string[]): boolean {
  let nodes = choices(schema);
  for (const part of parts) {
    if (nodes.some((node) => Object.keys(node).every((word) => word === "description"))) return true;
    nodes = nodes.flatMap((node) => below(node, part)).flatMap(choices);
  }
  return nodes.length > 0;
}

describe("keys of existing configurations", () => {
  let owners: readonly SectionOwner[] = [];
  let schema: { readonly properties?: Node } = {};
  before(async () => {
    const nowhere = resolvePaths({ SVC_STATE_DIR: "/nowhere/svc" });
    ({ owners } = await loadOwners(givenConfig(nowhere.configPath, {}), nowhere));
    schema = composeSchema(owners);
  });

  it("are known, accepted without effect, refused, or in a section without an owner", () => {
    const counts = { known: 0, accepted: 0, refused: 0, unused: 0 };
    const left = KEYS.filter((key) => {
      const parts = partsOf(key);
      if (isWithoutEffect(parts)) counts.accepted++;
      else if (isUnprotected(parts) || NAMED_BY_SCHEMA.test(key)) counts.refused++;
      else if (!Object.hasOwn(schema.properties ?? {}, parts[0] ?? "")) counts.unused++;
      else if (isKnown(schema, parts)) counts.known++;
      else return true;
      return false;
    });
    assert.deepEqual(left, []);
    assert.equal(KEYS.length, 1_309);
    assert.ok(counts.known > 400 && counts.accepted > 300, JSON.stringify(counts));
  });

  it("that are listed are unknown to every schema", () => {
    const listed = [...WITHOUT_EFFECT.flatMap(([, ...keys]) => keys), ...Object.keys(UNPROTECTED)];
    assert.equal(new Set(listed).size, listed.length);
    const dead = listed.filter((key) => isKnown(schema, partsOf(key)));
    assert.deepEqual(dead, []);
  });

  it("without effect are valid, each reported with its reason, without other warnings", () => {
    const file = givenConfig("/x/svc.json", {
      gateway: { mode: "local", controlUi: { basePath: "/ui" }, channelHealthCheckMinutes: 5 },
      hooks: { internal: { enabled: true } },
      commands: { native: "auto", restart: true },
      messages: { ackReaction: "eyes", queue: { mode: "collect" } },
      agents: { list: [{ id: "main" }, { id: "b", humanDelay: { mode: "off" } }] },
      plugins: { entries: { memory: { config: { a: 1 } } } },
    });
    assert.deepEqual([configIssues(file, owners), unownedKeys(file, owners)], [[], []]);
    const { withoutEffect, used } = withoutForeign(file.resolved);
    assert.deepEqual(
      withoutEffect.map(({ path }) => path),
      [
        "gateway.mode",
        "gateway.channelHealthCheckMinutes",
        "hooks.internal",
        "commands.native",
        "commands.restart",
        "messages.ackReaction",
        "agents.list[1].humanDelay",
        "plugins.entries.memory.config",
      ],
    );
    assert.ok(withoutEffect.every(({ message }) => message.length > 0));
    assert.deepEqual(used["messages"], { queue: { mode: "collect" } });
  });

  const refused: [key: string, config: object, told: RegExp][] = [
    ["plugins.allow", { plugins: { allow: ["a"] } }, /plugins\.use; then: svc config unset plugins\.allow$/],
    ["plugins.deny", { plugins: { deny: ["a"] } }, /plugins\.entries\.<id>\.enabled; then: /],
    ["agents.defaults.sandbox", { agents: { defaults: { sandbox: { mode: "all" } } } }, /does not sandbox commands/],
    ["agents.list[0].sandbox", { agents: { list: [{ id: "a", sandbox: {} }] } }, /unset agents\.list\[0\]\.sandbox$/],
    ["tools.elevated", { tools: { elevated: { enabled: false } } }, /tools\.exec\.security/],
    [
      "channels.defaults.groupPolicy",
      { channels: { defaults: { groupPolicy: "open" } } },
      /channels\.<id>\.groupPolicy/,
    ],
    ["commands.allowFrom", { commands: { allowFrom: { "*": ["a"] } } }, /channels\.<id>\.allowFrom/],
    ["commands.useAccessGroups", { commands: { useAccessGroups: true } }, /does not limit who gives commands/],
    ["commands.ownerAllowFrom", { commands: { ownerAllowFrom: ["a"] } }, /makes nobody an owner/],
    ["messages.queue", { messages: { queue: { zzz: 1 } } }, /^unexpected property 'zzz'$/],
    ["gateway", { gateway: { moed: "local" } }, /^unexpected property 'moed'$/],
  ];
  for (const [key, config, told] of refused) {
    it(`that promise a missing protection, or are misspelt, are refused by name: ${key}`, () => {
      const [issue, ...more] = configIssues(givenConfig("/x/svc.json", { ...config }), owners);
      assert.deepEqual([issue?.path, more], [key, []]);
      assert.match(issue?.message ?? "", told);
    });
  }
});
