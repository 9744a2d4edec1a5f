import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { GatewayError } from "@svc/sdk";
import { compileTemplate, TemplateError, type TemplateScope } from "../../../host/webhooks/template.ts";

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

function scope(more: Partial<TemplateScope> = {}): TemplateScope & { readonly told: string[] } {
  const told: string[] = [];
  return {
    payload: {
      user: { name: "Ada", tags: ["x", "y"], nick: null },
      count: 3,
      done: false,
      headers: { a: "in the payload" },
      path: "the payload's path",
      now: "the payload's now",
      trick: "{{user.name}} {{now}}",
    },
    headers: { "x-event": "push", authorization: "Bearer x" },
    query: new URLSearchParams("a=1&a=2&b=&ids[]=7&x.y=8"),
    path: "ci/build",
    now: NOW,
    missing: (place) => told.push(place),
    ...more,
    told,
  };
}

const render = (source: string, more: Partial<TemplateScope> = {}) => compileTemplate(source).render(scope(more));

describe("a template", () => {
  const rows: [source: string, text: string][] = [
    ["", ""],
    ["plain } text } with }} braces {", "plain } text } with }} braces {"],
    ["Hi {{user.name}}!", "Hi Ada!"],
    ["{{  user.name\t}}", "Ada"],
    ["{{user.name}}{{count}}{{done}}", "Ada3false"],
    ["{{user.tags[1]}}", "y"],
    ["{{user.tags}}", '["x","y"]'],
    ["{{user}}", '{"name":"Ada","tags":["x","y"],"nick":null}'],
    ["{{payload.user.name}}", "Ada"],
    ["{{path}} {{now}}", "ci/build 2026-01-02T03:04:05.006Z"],
    ["{{payload.path}} {{payload.now}}", "the payload's path the payload's now"],
    ["{{headers.X-Event}}", "push"],
    ["{{payload.headers.a}}", "in the payload"],
    ["{{headers}}", '{"a":"in the payload"}'],
    ["{{query.a}}|{{query.b}}|{{query.ids[]}}|{{query.x.y}}", "2||7|8"],
    ["{{trick}}", "{{user.name}} {{now}}"],
    ['{"n":"{{user.name}}"}}', '{"n":"Ada"}}'],
    ["{{{user.name}}}", "{Ada}"],
    ["{{user.name", "{{user.name"],
    ["{{user.name}", "{{user.name}"],
    ["{{user.name} {{count}}", "{{user.name} 3"],
    ["{{ a } b }}", "{{ a } b }}"],
    ["open {{ and {{count}}", "open {{ and 3"],
    ["{{count}} {{", "3 {{"],
    ["ünïcode 🎉 {{user.name}} 🎉", "ünïcode 🎉 Ada 🎉"],
  ];
  for (const [source, text] of rows) {
    it(`${JSON.stringify(source)} becomes ${JSON.stringify(text)}`, () => assert.equal(render(source), text));
  }

  it("keeps its source", () => assert.equal(compileTemplate("a {{b}}").source, "a {{b}}"));

  it("is empty where a place has no value, and reports each such place", () => {
    const given = scope();
    const places = [
      "nobody.home",
      "user.nick",
      "user.name.length",
      "__proto__.x",
      "constructor",
      "headers.x-none",
      "headers.__proto__",
      "headers.constructor",
      "query.none",
      "user.tags[9]",
      "user[0]",
    ];
    const source = places.map((place) => `<{{ ${place} }}>`).join("");
    assert.equal(compileTemplate(source).render(given), "<>".repeat(places.length));
    assert.deepEqual(given.told, places);
  });

  it("reads a list as payload", () => {
    assert.equal(render("{{[1].id}} {{payload.[0].id}}", { payload: [{ id: "a" }, { id: "b" }] }), "b a");
  });

  const refused: [source: string, why: RegExp][] = [
    ["{{}}", /the braces are empty/],
    ["{{  }}", /the braces are empty/],
    ["{{payload.}}", /not a place in the payload/],
    ["a {{b | upper}}", /^\{\{b \| upper\}\} at character 3: .*filters/],
    ['{{a["b"]}}', /names in brackets/],
    ["{{#if a}}", /not a place in the payload/],
    ["{{{{a}}}}{{!x}}", /not a place in the payload/],
    ["{{a.}}", /not a place/],
    ["{{headers.}}", /not a valid header name/],
    ["{{headers.a b}}", /not a valid header name/],
    ["{{headers.x.y}}", /a header with a dot/],
    ["{{query.}}", /is not a valid parameter name/],
    ["{{query.a | b}}", /is not a valid parameter name/],
    ["{{a}}".repeat(257), /more than 256 expressions/],
  ];
  for (const [source, why] of refused) {
    it(`refuses ${JSON.stringify(source.slice(0, 40))}`, () => {
      assert.throws(
        () => compileTemplate(source),
        (error) => error instanceof TemplateError && why.test(error.message),
      );
    });
  }

  it("may have 256 expressions", () => assert.equal(render("{{count}}".repeat(256)), "3".repeat(256)));

  it("of only open braces is text, at any length", () => {
    const braces = "{".repeat(500_000);
    assert.equal(render(braces), braces);
    const half = "{{}".repeat(200_000);
    assert.equal(render(half), half);
  });
});

describe("a rendered text", () => {
  const refusal = { name: "GatewayError", code: "INVALID_REQUEST" };

  it("has at most 1 MiB characters", () => {
    const payload = { big: "x".repeat(262_144) };
    assert.equal(render("{{big}}".repeat(4), { payload }).length, 1_048_576);
    assert.throws(() => render("{{big}}".repeat(4) + "y", { payload }), refusal);
    assert.throws(() => render(`${"{{big}}".repeat(4)}{{big}}`, { payload }), /more than 1048576 characters/);
  });

  it("is abandoned as soon as it is too long", () => {
    let written = 0;
    const payload = {
      big: {
        toJSON() {
          written += 1;
          return "x".repeat(262_142);
        },
      },
    };
    assert.throws(() => render("{{big}}".repeat(256), { payload }), refusal);
    assert.equal(written, 5);
  });

  it("cannot contain a value that is nested too deeply", () => {
    const deep = `${"[".repeat(120_000)}${"]".repeat(120_000)}`;
    const payload = { deep: JSON.parse(deep) as unknown };
    assert.throws(
      () => render("{{deep}}", { payload }),
      (error) => error instanceof GatewayError && /deep of the payload is nested too deeply/.test(error.message),
    );
  });

  it("does not change Object.prototype", () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    render("{{__proto__.polluted}}{{constructor.prototype}}", { payload: JSON.parse('{"__proto__":{"polluted":1}}') });
    assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), before);
  });
});
