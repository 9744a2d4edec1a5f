import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toolAddressOf } from "@svc/kit/agent-address";
import { argumentsOf, type Invocation, mayBeJson, parseInvocation } from "../../../plugins/http-tools/request.ts";

const parse = (body: unknown) => parseInvocation(Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
/** What is read of a body; each case changes one thing. */
const plain: Invocation = { tool: "echo", args: {}, dryRun: false };

describe("the body of a request", () => {
  const rows: readonly (readonly [what: string, body: object, read: Partial<Invocation>])[] = [
    ["a tool alone", {}, {}],
    ["blanks around a name", { tool: "  echo\n" }, {}],
    ["`name` goes before `tool`", { name: "other" }, { tool: "other" }],
    ["a blank `name` is none", { name: " " }, {}],
    ["a `name` that is no text is none", { name: 5 }, {}],
    ["an action", { action: " send " }, { action: "send" }],
    ["a blank action is none", { action: " " }, {}],
    ["an action that is no text is none", { action: { a: 1 } }, {}],
    ["arguments", { args: { a: [1] } }, { args: { a: [1] } }],
    ["null as arguments", { args: null }, {}],
    ["a session", { sessionKey: " agent:a:b " }, { sessionKey: "agent:a:b" }],
    ["a blank session is none", { sessionKey: " " }, {}],
    ["null as session is none", { sessionKey: null }, {}],
    ["a dry run", { dryRun: true }, { dryRun: true }],
    ["only `true` is a dry run", { dryRun: "true" }, {}],
    ["fields nobody knows", { idempotencyKey: "k", agentId: "x" }, {}],
  ];
  for (const [what, body, read] of rows) {
    it(what, () => assert.deepEqual(parse({ tool: "echo", ...body }), { ...plain, ...read }));
  }

  const refusals: readonly (readonly [what: string, body: unknown, message: RegExp])[] = [
    ["an empty body", "", /^tools\.invoke requires body\.tool$/],
    ["no tool", {}, /^tools\.invoke requires body\.tool$/],
    ["a blank tool", { tool: " " }, /^tools\.invoke requires body\.tool$/],
    ["a tool that is no text", { tool: ["echo"] }, /^tools\.invoke requires body\.tool$/],
    ["a list", "[]", /^tools\.invoke requires body\.tool$/],
    ["null", "null", /^tools\.invoke requires body\.tool$/],
    ["a number", "5", /^tools\.invoke requires body\.tool$/],
    ["half a body", '{"tool":', /JSON/],
    ["text that is no JSON", "tool=echo", /JSON/],
    ...[[], [1], "a", "", 5, false].map(
      (args) =>
        [`${JSON.stringify(args)} as arguments`, { tool: "echo", args }, /^body\.args must be an object$/] as const,
    ),
    [
      "a body too deep",
      `{"tool":"echo","args":{"a":${"[".repeat(200)}${"]".repeat(200)}}}`,
      /^the body is nested deeper than 200 levels$/,
    ],
    ["a session that is no string", { tool: "echo", sessionKey: ["agent:a:b"] }, /^body\.sessionKey must be a string$/],
  ];
  for (const [what, body, message] of refusals) {
    it(`refuses ${what}`, () => assert.throws(() => parse(body), { code: "INVALID_REQUEST", message }));
  }

  it("refuses bytes that are not UTF-8", () => {
    const body = Buffer.concat([Buffer.from('{"tool":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    assert.throws(() => parseInvocation(body), { code: "INVALID_REQUEST", message: "the body is not UTF-8" });
  });
});

describe("the declared content type", () => {
  const taken = [
    undefined,
    "",
    " ",
    "application/json",
    "Application/JSON; charset=utf-8",
    "application/vnd.api+json",
    "text/json",
    "text/plain;charset=UTF-8",
    "application/octet-stream",
    "application/x-www-form-urlencoded",
  ];
  for (const type of taken) it(`may be JSON: ${type ?? "none"}`, () => assert.equal(mayBeJson(type), true));
  const refused = ["application/xml", "multipart/form-data; boundary=x", "text/html", "image/png", "json", "a/jsonp"];
  for (const type of refused) it(`cannot be JSON: ${type}`, () => assert.equal(mayBeJson(type), false));
});

describe("action", () => {
  const knows = { properties: { action: { type: "string" } } };
  const rows: readonly (readonly [what: string, wish: Partial<Invocation>, parameters: unknown, args: object])[] = [
    ["joins the arguments of a tool that knows it", { action: "a" }, knows, { action: "a" }],
    ["does not where the arguments have one", { action: "a", args: { action: "b" } }, knows, { action: "b" }],
    ["nor where they have a null", { action: "a", args: { action: null } }, knows, { action: null }],
    ["nor where the tool does not know it", { action: "a" }, { properties: { other: {} } }, {}],
    ["nor by what every object has", { action: "a" }, { properties: Object.create(knows.properties) as object }, {}],
    ["nor without a tool", { action: "a", args: { x: 1 } }, undefined, { x: 1 }],
    ["is none by default", {}, knows, {}],
  ];
  for (const [what, wish, parameters, args] of rows) {
    it(what, () => assert.deepEqual(argumentsOf({ ...plain, ...wish }, parameters), args));
  }
});

describe("where the request says it comes from", () => {
  const channelId = (name: string) => (name === "the-irc" ? "irc" : undefined);

  it("is nowhere without headers, and blank ones are none", () => {
    assert.equal(toolAddressOf({}, channelId), undefined);
    assert.equal(toolAddressOf({ "x-svc-message-channel": " ", "x-svc-thread-id": "" }, channelId), undefined);
  });

  it("is what each header says", () => {
    const headers = {
      "x-svc-message-channel": " The-IRC ",
      "x-svc-account-id": "Work",
      "x-svc-message-to": "#Team",
      "x-svc-thread-id": ["5", "6"],
    };
    assert.deepEqual(toolAddressOf(headers, channelId), {
      channel: "irc",
      accountId: "Work",
      to: "#Team",
      threadId: "5",
    });
    assert.deepEqual(toolAddressOf({ "x-svc-message-channel": "Slack" }, channelId), { channel: "slack" });
  });
});
