/** Holds the catalogue of `details.code` against the sources: each code is in it, and each entry is thrown where it says. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { DETAIL_CODES, type DetailEntry, detailsCode, ERRORS, refusal, withNextStep } from "@svc/sdk/errors";
import { root } from "../checkout.ts";

const CATALOGUE = "sdk/error-codes.ts";
const entries = Object.entries<DetailEntry>(DETAIL_CODES);

/** Product sources by room: `host`, `sdk`, `kit`, or the plugin's id. */
const sources = ["sdk", "host", "plugins", "examples"].flatMap((top) =>
  readdirSync(join(root, top), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/(?:^|\/)(?:node_modules|dist|ui\/texts)\//.test(name))
    .map((name) => {
      const path = `${top}/${name}`;
      const [first = "", second = ""] = path.split("/");
      const room = second === "kit" ? "kit" : first === "plugins" ? second : first;
      return { path, room, text: readFileSync(join(root, path), "utf8") };
    })
    .filter(({ path }) => path !== CATALOGUE),
);

/** Codes that are none of a refusal: of `svc --json`, of the database thread, of an answer over HTTP, of log lines. */
const OTHERS = /^(?:LOCAL|FAULT|server_error|SECRETS_\w+)$/;

describe("the catalogue of details.code", () => {
  it("has every code that is written into details", () => {
    const unknown = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\bcode: "(\w+)"/g)]
        .map(([, code = ""]) => code)
        .filter((code) => !(code in DETAIL_CODES) && !(code in ERRORS) && !OTHERS.test(code))
        .map((code) => `${path}: ${code}`),
    );
    assert.deepEqual(unknown, []);
  });

  it("is used through `refusal`, whose codes are checked by the compiler", () => {
    const unchecked = sources.filter(({ text }) => /details: \{ *code: "|invalidRequest\([^;]*\{ *code: "/.test(text));
    assert.deepEqual(
      unchecked.map(({ path }) => path).filter((path) => path !== "sdk/gateway-error.ts"), // its docstring shows one
      [],
    );
  });

  it("has no entry that nobody throws, and knows who does", () => {
    const wrong = entries.flatMap(([code, { by }]) => {
      const thrown = new RegExp(`(?<![!=]== )"${code}"`);
      const rooms = new Set(sources.filter(({ text }) => thrown.test(text)).map(({ room }) => room));
      const called = new RegExp(`refusal\\(\\s*"${code}"`);
      const callers = sources.filter(({ text, room }) => called.test(text) && !by.includes(room));
      return [
        ...by.filter((room) => !rooms.has(room)).map((room) => `${code}: ${room} does not throw it`),
        ...callers.map(({ path }) => `${code}: ${path} throws it, too`),
      ];
    });
    assert.deepEqual(wrong, []);
  });

  it("says when, and what to do", () => {
    for (const [code, { error, when, next }] of entries) {
      assert.ok(error in ERRORS, code);
      assert.match(when, /^[A-Z`].*\.$/, code);
      assert.match(next, /^[^\n]{8,}[^.\n]$/, code);
    }
  });
});

describe("a refusal with a details.code", () => {
  it("has the error.code of the catalogue, and its particulars beside the code", () => {
    const { code, details, retryAfterMs } = refusal("TOO_MANY_PENDING", "x", { nodeId: "n" }, { retryAfterMs: 1_000 });
    assert.deepEqual([code, details, retryAfterMs], ["UNAVAILABLE", { code: "TOO_MANY_PENDING", nodeId: "n" }, 1_000]);
  });

  const own = (details: unknown) => new GatewayError("INVALID_REQUEST", "x", { details });
  const read: [what: string, thrown: unknown, code: string | undefined][] = [
    ["one of the catalogue", refusal("UNREACHABLE", "x"), "UNREACHABLE"],
    ["one of somebody else's plugin", own({ code: "THEIR_OWN" }), undefined],
    ["a name every object has", own({ code: "constructor" }), undefined],
    ["no text", own({ code: 1 }), undefined],
    ["none", own(undefined), undefined],
    ["details that are no object", own(null), undefined],
    ["another error", Object.assign(new Error("x"), { details: { code: "UNREACHABLE" } }), undefined],
  ];
  for (const [what, thrown, code] of read) it(`is read: ${what}`, () => assert.equal(detailsCode(thrown), code));

  it("says what to do next where it does not say so itself", () => {
    const given = { code: "ROLE_INVALID", more: 1 };
    assert.deepEqual(withNextStep(given), { ...given, nextStep: DETAIL_CODES.ROLE_INVALID.next });
    for (const details of [undefined, null, "x", {}, { code: "THEIR_OWN" }, { ...given, nextStep: "own" }])
      assert.equal(withNextStep(details), details);
  });
});
