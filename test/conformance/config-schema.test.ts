/** The composed configuration schema as forms and editors use it: its defaults are valid, it is closed, and every key is described. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { config } from "@svc/sdk/config";
import { root } from "../checkout.ts";
import { bundlePlugins, startBundle } from "./config-bundle.ts";
import { type Leaf, leavesOf, type Node, objectsOf, type Place } from "./config-leaves.ts";
import { ENTRY, planted, smallest } from "./config-values.ts";

const limited = { timeout: 120_000 };

interface Hint {
  readonly label?: string;
  readonly help?: string;
  readonly sensitive?: boolean;
}

async function composed(t: TestContext) {
  const bundle = await startBundle(t, { logging: { level: "silent" } });
  const { schema, uiHints } = await bundle.client.call(config.schema, {});
  return { ...bundle, schema: schema as Node, hints: uiHints as Record<string, Hint> };
}

/** All defaults of a schema as a value; `undefined` without any. */
function defaultsOf(node: Node): unknown {
  const below = Object.entries(node.properties ?? {}).flatMap(([key, child]) => {
    const value = defaultsOf(child);
    return value === undefined ? [] : [[key, value] as const];
  });
  if (below.length > 0) return Object.fromEntries(below);
  return node.default;
}

/** Choice: a key whose name looks like a secret; numbers of tokens and names of headers are not secrets. */
const SECRET = /(^|[a-z])(token|password|secret|api_?key|credential|private_?key)$/i;

describe("the composed schema", limited, () => {
  it("has valid defaults, which equal the values in force without them", async (t) => {
    const { schema, write } = await composed(t);
    const defaults = defaultsOf(schema) as Record<string, unknown>;
    assert.ok(Object.keys(defaults).length >= 5);
    const { changed } = await write({ logging: { level: "silent" }, ...defaults });
    assert.deepEqual(changed, []);
  });

  it("refuses unknown keys at every level by path, except in places declared open", async (t) => {
    const { schema, write } = await composed(t);
    const open: string[] = [];
    for (const place of objectsOf(schema)) {
      const issues = await issuesOf(write, withStranger(schema, place));
      if (issues.length === 0) open.push(place.path);
      else assert.ok(issues.some(tells(place)), `${place.path}: ${JSON.stringify(issues)}`);
    }
    assert.deepEqual(open, OPEN);
    for (const path of OPEN) {
      const node = objectsOf(schema).find((place) => place.path === path)?.node;
      assert.notEqual(node?.additionalProperties, false, path);
    }
  });

  it("describes every key, and marks every secret", async (t) => {
    const { schema, hints } = await composed(t);
    const faults: string[] = [];
    for (const { path } of leavesOf(schema)) {
      const parent = path.replace(/\.\*$/, ""); // a map describes its entries
      const help = hints[path]?.help ?? hints[parent]?.help;
      if (!path.endsWith("*") && !hints[path]?.label) faults.push(`${path} has no label`);
      if (!help) faults.push(`${path} has no description`);
      if (SECRET.test(path) && hints[path]?.sensitive !== true) faults.push(`${path} is not marked sensitive`);
    }
    assert.deepEqual(faults, []);
  });

  it("has every key of a plugin in the plugin's README", async (t) => {
    const { schema } = await composed(t);
    const { ownerOf } = await bundlePlugins();
    const missing: string[] = [];
    for (const leaf of leavesOf(schema)) {
      const owner = ownerOf(leaf.path);
      if (owner === undefined) continue; // the host: its hints are the reference
      // Channels share settings, which the README of `channels` explains.
      const readmes = leaf.path.startsWith("channels.") ? [owner, "channels"] : [owner];
      const texts = readmes.map((plugin) => readFile(join(root, "plugins", plugin, "README.md"), "utf8"));
      const readme = (await Promise.all(texts)).join("\n");
      if (!new RegExp(`(?<![A-Za-z0-9])${nameOf(leaf)}(?![A-Za-z0-9])`).test(readme)) missing.push(leaf.path);
    }
    assert.deepEqual(missing, []);
  });
});

/** Objects that take any key. */
const OPEN = [
  "models.bedrockDiscovery", // refused by its `enabled`, so its other keys do not matter
  "secrets.providers.*", // each source has its own keys
  "messages", // several plugins own parts of it
  "channels", // each channel owns a part of it
  "tools", // several plugins own parts of it
];

interface Issue {
  readonly path: string;
  readonly message: string;
}

async function issuesOf(write: (next: unknown) => Promise<unknown>, next: unknown): Promise<Issue[]> {
  return write(next).then(
    () => [],
    (error: { details?: { issues?: Issue[] } }) =>
      error.details?.issues ?? [{ path: "?", message: JSON.stringify(error) }],
  );
}

function withStranger(schema: Node, { keys, node, path }: Place): unknown {
  const value = { ...smallest(node, path), "no-such-key": 1 };
  return { logging: { level: "silent" }, ...(planted(schema, keys, value) as object) };
}

/** The issue names the unknown key and its path; a union may only report that no member matches. */
function tells({ path }: Place): (issue: Issue) => boolean {
  const where = path.replaceAll("[]", "[0]").replaceAll("*", ENTRY);
  return (issue) => issue.path === where && /no-such-key/.test(issue.message);
}

function nameOf({ keys }: Leaf): string {
  return keys.findLast((key) => key !== "*" && key !== "[]") ?? "";
}
