import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigEdit } from "@svc/sdk/config";
import type { WebhookMappingInfo } from "@svc/sdk/webhooks";
import { rowsNamed, switchEdits } from "../../../plugins/webhooks/switching.ts";
import { BUILD, MAIL, ROWS, SECOND, WAKE } from "./sample.ts";

type Row = WebhookMappingInfo;

const file = (hooks: object) => ({ hooks });
const mappings = (...entries: unknown[]) => file({ mappings: entries });

describe("what is written to switch a mapping", () => {
  const entry = (index: number, value: boolean) => [{ path: ["hooks", "mappings", index, "enabled"], value }];
  const list = (...value: string[]) => [{ path: ["hooks", "disabled"], value }];
  const included = file({ $include: "./hooks.json5" });
  const twice = file({ disabled: ["wake", "mail", "wake"] });
  const rows: [what: string, parsed: object, row: Row, enabled: boolean, edits: readonly ConfigEdit[]][] = [
    ["disables a mapping by its id", mappings({ id: "other" }, { id: "build" }), BUILD, false, entry(1, false)],
    ["disables one that says true", mappings({ id: "build", enabled: true }), BUILD, false, entry(0, false)],
    ["enables one that says false", mappings({ id: "build", enabled: false }), BUILD, true, entry(0, true)],
    ["leaves one that is enabled by default", mappings({ id: "build" }), BUILD, true, []],
    ["leaves one that says false", mappings({ id: "build", enabled: false }), BUILD, false, []],
    ["finds one without an id by its place", mappings({ id: "build" }, {}), SECOND, false, entry(1, false)],
    ["adds a preset to a list that is not there", {}, MAIL, false, list("mail")],
    ["adds a direct path to the list", file({ disabled: ["mail"] }), WAKE, false, list("mail", "wake")],
    ["adds none twice", file({ disabled: ["wake"] }), WAKE, false, []],
    ["takes one off the list, each time it stands there", twice, WAKE, true, list("mail")],
    [
      "takes the list away with its last one",
      file({ disabled: ["mail"] }),
      MAIL,
      true,
      [{ path: ["hooks", "disabled"], value: undefined }],
    ],
    ["leaves a list it does not stand on", file({ disabled: ["mail"] }), WAKE, true, []],
    ["leaves a file without the section", {}, WAKE, true, []],
    ["adds beside an include that does not disable it", included, WAKE, false, list("wake")],
    ["leaves what an included file has disabled", included, { ...WAKE, enabled: false }, false, []],
  ];
  for (const [what, parsed, row, enabled, edits] of rows) {
    it(what, () => assert.deepEqual(switchEdits({ ...parsed }, [row], enabled), edits));
  }

  const refusals: [what: string, parsed: object, row: Row, enabled: boolean, message: RegExp][] = [
    [
      "a mapping of an included file",
      file({ $include: "./h.json5" }),
      BUILD,
      false,
      /is not in the configuration file itself.+"enabled" to false/,
    ],
    [
      "an id that is a placeholder",
      mappings({ id: "${NAME}" }),
      BUILD,
      true,
      /or its id is not in the configuration file itself; set its "enabled" to true/,
    ],
    ["mappings that are no list", file({ mappings: { id: "build" } }), BUILD, false, /is not in the configuration/],
    [
      "what an included file has disabled",
      { $include: "./a.json5" },
      { ...WAKE, enabled: false },
      true,
      /disabled by an included file; remove it from hooks\.disabled/,
    ],
    ["a list that is none", file({ disabled: "wake" }), WAKE, false, /hooks\.disabled is not a list/],
  ];
  for (const [what, parsed, row, enabled, message] of refusals) {
    it(`refuses ${what}`, () =>
      assert.throws(() => switchEdits({ ...parsed }, [row], enabled), { code: "INVALID_REQUEST", message }));
  }
});

describe("which mapping an id means", () => {
  it("is the one with the id, or all those of a preset", () => {
    const second = { ...MAIL, path: "/hooks/mail/2" };
    assert.deepEqual(rowsNamed(ROWS, "build"), [BUILD]);
    assert.deepEqual(rowsNamed([...ROWS, second], "mail"), [MAIL, second]);
  });

  it("is nothing for an unknown one, and the known ones are named", () => {
    assert.throws(() => rowsNamed(ROWS, "nope"), {
      code: "NOT_FOUND",
      message: 'no mapping "nope"; configured: wake, build, mapping-2, mail',
    });
    assert.throws(() => rowsNamed([], "nope"), { code: "NOT_FOUND", message: 'no mapping "nope"; none is configured' });
    const many = Array.from({ length: 25 }, (_, index) => ({ ...WAKE, id: `m${index}` }));
    assert.throws(() => rowsNamed(many, "nope"), /m0, m1.+, m19 and 5 more$/);
  });

  it("is refused when one of hooks.mappings shares it", () => {
    const twin = { ...MAIL, origin: "config" };
    assert.throws(() => rowsNamed([twin, MAIL], "mail"), {
      code: "INVALID_REQUEST",
      message: '"mail" is the id of 2 mappings (config, preset:mail); give the one in hooks.mappings another id',
    });
  });
});
