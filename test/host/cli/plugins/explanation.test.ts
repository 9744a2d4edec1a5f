/** Why a plugin is not active, and what its code declares. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { hostServices } from "@svc/host/local";
import { definePlugin, defineService, live, optional } from "@svc/sdk";
import { ConfigStore } from "@svc/sdk/config";
import { codeFacts } from "../../../../host/cli/plugin-facts/code-facts.ts";
import { type Candidate, lacksOf, nextStep } from "../../../../host/cli/plugin-facts/explanation.ts";
import { linkSdk } from "../../../../host/installed/sdk-link.ts";
import { directory } from "../../../directory.ts";
import { writePackage } from "../../../plugin-package.ts";

const Store = defineService<object>()("store", "1.2.0");
const Later = defineService<object>()("store", "2.0.0");

const user = definePlugin({
  id: "user",
  api: "^1.0.0",
  requires: { store: Store, files: ConfigStore, maybe: optional(Later), sometime: live(Later) },
  setup() {},
});
const provider = (id: string, token = Store) => definePlugin({ id, api: "^1.0.0", provides: [token], setup() {} });
const always = await hostServices();
const waiting: Candidate = { id: "user", state: "pending", plugin: user };
const lack = { service: "store 1.2.0", providers: [{ id: "disk", state: "disabled" }] };

describe("missing services of a plugin", () => {
  const rows: [why: string, others: Candidate[], lacks: unknown][] = [
    ["no plugin provides it", [], [{ service: "store 1.2.0", providers: [] }]],
    ["a disabled plugin provides it", [{ id: "disk", state: "disabled", plugin: provider("disk") }], [lack]],
    [
      "a failed plugin provides it",
      [{ id: "disk", state: "failed", plugin: provider("disk") }],
      [{ service: "store 1.2.0", providers: [{ id: "disk", state: "failed" }] }],
    ],
    [
      "a plugin provides another major version",
      [{ id: "disk", state: "active", plugin: provider("disk", Later) }],
      [{ service: "store 1.2.0", providers: [] }],
    ],
    ["an active plugin provides it", [{ id: "disk", state: "active", plugin: provider("disk") }], []],
    [
      "a plugin that has not started yet provides it",
      [{ id: "disk", state: "not started yet", plugin: provider("disk") }],
      [],
    ],
  ];
  for (const [why, others, lacks] of rows)
    it(why, () => assert.deepEqual(lacksOf(waiting, [waiting, ...others], always), lacks));

  it("are unknown if the plugin cannot be imported", () =>
    assert.deepEqual(lacksOf({ id: "user", state: "failed", plugin: undefined }, [], always), []));
});

describe("the next step", () => {
  const is = (state: string, more: Partial<Candidate> = {}): Candidate => ({
    id: "user",
    state,
    plugin: user,
    ...more,
  });
  const rows: [one: Candidate, lacks: Parameters<typeof nextStep>[1], step: RegExp | undefined][] = [
    [is("active"), [], undefined],
    [is("disabled"), [], /^svc config set plugins\.entries\.user\.enabled true$/],
    [is("not in use"), [], /^svc config set 'plugins\.use\[2\]' user$/],
    [is("blocked"), [], /follow the reason/],
    [is("not started yet"), [], /^svc gateway run$/],
    [is("not loaded"), [], /restart the gateway/],
    [is("failed"), [], /fix the cause given in the reason, then: svc plugins reload user$/],
    [is("failed", { retryAt: 1 }), [], /next attempt, or retry now: svc plugins reload user$/],
    [is("pending"), [lack], /^svc config set plugins\.entries\.disk\.enabled true$/],
    [is("pending"), [{ ...lack, providers: [{ id: "disk", state: "not in use" }] }], /'plugins\.use\[2\]' disk$/],
    [is("pending"), [{ ...lack, providers: [{ id: "disk", state: "failed" }] }], /^svc plugins why disk$/],
    [is("pending"), [{ ...lack, providers: [] }], /^install a plugin that provides the service store 1\.2\.0/],
  ];
  for (const [one, lacks, step] of rows) {
    it(`${one.state}${lacks[0] ? `, provider: ${lacks[0].providers[0]?.state ?? "none"}` : ""}`, () => {
      const next = nextStep(one, lacks, 2);
      if (step) assert.match(String(next), step);
      else assert.equal(next, undefined);
    });
  }
});

it(
  "declarations of all files are read although importing some of them ends the process",
  { timeout: 60_000 },
  async (t) => {
    const place = directory(t);
    linkSdk(place);
    const files = await Promise.all(
      [
        { name: "one" },
        { name: "two", code: "process.exit(1);" },
        { name: "three", code: 'throw new Error("no");' },
        { name: "four" },
      ].map(async (plugin) => join(await writePackage(join(place, "node_modules", plugin.name), plugin), "plugin.js")),
    );
    const facts = await codeFacts(files);
    assert.deepEqual(
      facts.map(({ id, problem }) => id ?? problem),
      ["one", "importing it ends or blocks the process", "no", "four"],
    );
  },
);
