/** What a plugin asks for, in words, and what counts as more than before. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { describe, it } from "node:test";
import { addedItems, itemsOf, summaryOf } from "../../../../host/installed/agreed.ts";
import { preferredPlacement } from "../../../../host/kernel/placement.ts";
import { declaredLines } from "../../../../plugins/plugins/install/declared-lines.ts";
import { directory, put } from "../../../directory.ts";
import { consentOf } from "../../../../plugins/plugins/install/consent.ts";

const process = { isolation: { supports: ["process" as const] } };

describe("what a plugin asks for", () => {
  it("is told thing by thing, the weightiest first", () => {
    const items = itemsOf(
      {
        id: "pen",
        permissions: {
          calls: ["operator.write"],
          net: ["*:443"],
          files: { read: ["~/in"], write: ["/out"] },
          exec: true,
          env: ["PEN_KEY"],
        },
        gates: ["toolBefore"],
        routes: ["/pen"],
        namespaces: ["pen", "ink"],
        section: "writing",
        commands: [{ name: "pen", summary: "Writes" }],
      },
      ["pen/build/pen.node"],
    );
    assert.deepEqual(summaryOf(items), [
      "runs with all rights of the gateway, even in its own thread; the permissions below are declared by the plugin and not enforced",
      "calls methods of this gateway with the scope operator.write",
      "connects to *:443",
      "reads ~/in",
      "writes /out",
      "runs programs, which can do everything this user can",
      "reads the environment variable PEN_KEY",
      "may deny what passes the gate toolBefore; the gate stays closed while the plugin is not running",
      "serves HTTP requests below /pen",
      "serves methods below ink.",
      "owns the configuration section writing",
      "adds the command: svc pen",
      "contains compiled code, which cannot be confined: pen/build/pen.node",
    ]);
  });

  it("says of a process of its own what is denied there, and what is not", () => {
    assert.deepEqual(summaryOf(itemsOf({ id: "pen", ...process }, [])), [
      "runs in its own process: files and programs not listed below are denied, the network is not",
    ]);
  });

  it("cannot steer the terminal of whoever reads it", () => {
    const [, line = ""] = summaryOf(itemsOf({ id: "pen", ...process, permissions: { net: ["\u001b[2Kgood:1"] } }, []));
    assert.equal(line, "connects to \\u001b[2Kgood:1");
  });

  const placements: [what: string, isolation: Parameters<typeof preferredPlacement>[0]["isolation"], runs: string][] = [
    ["nothing is said", undefined, "host"],
    ["a thread is possible", { supports: ["host", "worker"] }, "worker"],
    ["it prefers the host", { supports: ["host", "worker"], default: "host" }, "host"],
    ["only a process is possible", { supports: ["process"] }, "process"],
  ];
  for (const [what, isolation, runs] of placements)
    it(`says where it runs when ${what}`, () =>
      assert.equal(preferredPlacement(isolation === undefined ? {} : { isolation }), runs));
});

describe("what a plugin does inside", () => {
  const CODE = "export default 1;";
  const entry = createHash("sha256").update(CODE).digest("hex");
  const names = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `pen.m${index}` }));
  const declared = (entries: object) => JSON.stringify({ format: 2, entry, entries });
  const below = [
    "serves methods below pen.",
    "does not declare which hooks it taps; after the install, svc plugins inspect pen lists them",
  ];
  const rows: [what: string, text: string | undefined, lines: string[]][] = [
    ["nothing", declared({}), []],
    [
      "something of each kind",
      declared({
        methods: names(2),
        routes: [{ name: "GET /pen" }, { name: "POST /pen" }],
        hooks: [{ name: "toolResult:\u001b[2K" }],
      }),
      ["serves the methods pen.m0, pen.m1", "answers GET /pen, POST /pen", "taps the hook toolResult:\\u001b[2K"],
    ],
    [
      "much",
      declared({ methods: names(11) }),
      [
        `serves the methods ${names(8)
          .map(({ name }) => name)
          .join(", ")} and 3 more`,
      ],
    ],
    ["what its package does not say", undefined, below],
    ["what it said of other code", declared({}).replace(entry, "0"), below],
    ["what is not known without its code", JSON.stringify({ format: 2, entry, awake: "it acquires resources" }), below],
  ];
  for (const [what, text, lines] of rows)
    it(`is told in short: ${what}`, async (t) => {
      const place = directory(t);
      put(join(place, "dist/plugin.js"), CODE);
      if (text !== undefined) put(join(place, "dist/declared.json"), text);
      const manifest = { id: "pen", directory: place, entry: "./dist/plugin.js", namespaces: ["pen", "ink"] };
      assert.deepEqual(await declaredLines(manifest), lines);
    });
});

describe("an agreement", () => {
  const before = itemsOf({ id: "pen", permissions: { net: ["a:1", "b:1"] } }, []);

  it("covers less than before", () => {
    assert.deepEqual(addedItems(itemsOf({ id: "pen", permissions: { net: ["b:1"] } }, []), before), []);
  });

  it("does not cover anything new, nor a place with more rights", () => {
    assert.deepEqual(addedItems(itemsOf({ id: "pen", permissions: { net: ["b:1"], exec: true } }, []), before), [
      "exec programs",
    ]);
    assert.deepEqual(addedItems(itemsOf({ id: "pen" }, []), itemsOf({ id: "pen", ...process }, [])), ["rights all"]);
    assert.deepEqual(addedItems(itemsOf({ id: "pen", ...process }, []), itemsOf({ id: "pen" }, [])), []);
  });

  it("is one for one package and what it asks for, in any order", () => {
    const word = consentOf("pen", "sha512-a", ["x", "y"]);
    assert.equal(consentOf("pen", "sha512-a", ["y", "x"]), word);
    for (const other of [
      consentOf("ink", "sha512-a", ["x", "y"]),
      consentOf("pen", "sha512-b", ["x", "y"]),
      consentOf("pen", "sha512-a", ["x"]),
    ])
      assert.notEqual(other, word);
  });
});
