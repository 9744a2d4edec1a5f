/** Why the section `hooks` is refused, before any plugin runs and with the plugins that run. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches } from "@svc/sdk";
import { testGateway } from "@svc/sdk/testing";
import { type HooksSection, HooksSection as Schema } from "../../../host/config/hooks-schema.ts";
import { webhookSettings } from "../../../host/webhooks/settings.ts";
import { TOKEN, webhookGateway } from "./webhook-gateway.ts";

const facts = { gatewayToken: "the gateway's own", isLocal: true, configDir: "/etc/gateway" };
const issuesOf = (section: HooksSection) => webhookSettings({ enabled: true, token: TOKEN, ...section }, facts).issues;
const mapping = (one: Record<string, unknown>): HooksSection => ({ mappings: [one] }) as HooksSection; // each case is checked by the schema below

describe("the section hooks", () => {
  it("has no issues by default, and none while it is disabled", () => {
    assert.deepEqual(issuesOf({}), []);
    assert.deepEqual(webhookSettings({ token: "", path: "/" }, facts).issues, []);
  });

  it("needs a token that cannot be guessed if other machines can reach the gateway", () => {
    const of = (token: string, isLocal: boolean) =>
      webhookSettings({ enabled: true, token }, { ...facts, isLocal }).issues.map(
        ({ path, message }) => path + message,
      );
    assert.deepEqual(of("a", true), []);
    assert.deepEqual(of("0123456789abcdef", false), []);
    for (const token of ["a", "0123456789abcde", "  0123456789abcde ", "aaaaaaaabbbbbbbbcccccccc"])
      assert.match(of(token, false).join(), /^hooks\.token.*at least (?:16|5),.*openssl rand.*gateway\.bind/u, token);
  });

  const refused: [why: string, section: HooksSection, path: string, message: RegExp][] = [
    ["no token", { token: "" }, "hooks.token", /is required/],
    ["a blank token", { token: "  \t" }, "hooks.token", /is required/],
    [
      "the gateway's own token [H2.13]",
      { token: " the gateway's own " },
      "hooks.token",
      /must not be the gateway's own/,
    ],
    ["the root as path", { path: "/" }, "hooks.path", /root/],
    ["slashes as path", { path: "///" }, "hooks.path", /root/],
    ["an ambiguous path", { path: "/a/../b" }, "hooks.path", /plain path/],
    ["an encoded path", { path: "/a%2fb" }, "hooks.path", /plain path/],
    ["a path with a query", { path: "/a?b" }, "hooks.path", /plain path/],
    ["the liveness path", { path: "/healthz" }, "hooks.path", /served by the gateway itself/],
    ["a path of plugins", { path: "/plugins/x" }, "hooks.path", /served by the gateway itself/],
    [
      "a default key outside the prefixes",
      { defaultSessionKey: "main", allowedSessionKeyPrefixes: ["hook:"] },
      "hooks.defaultSessionKey",
      /begins with none of/,
    ],
    [
      "prefixes that exclude generated keys",
      { allowedSessionKeyPrefixes: ["ci:"] },
      "hooks.allowedSessionKeyPrefixes",
      /add "hook:"/,
    ],
    ["only blank prefixes", { allowedSessionKeyPrefixes: [" "] }, "hooks.allowedSessionKeyPrefixes", /blank/],
    ["a transforms directory outside", { transformsDir: "../x" }, "hooks.transformsDir", /\.\./],
    ["an absolute one outside", { transformsDir: "/tmp" }, "hooks.transformsDir", /inside/],
    ["a home directory", { transformsDir: "~/x" }, "hooks.transformsDir", /~/],
    ...[
      "../x.ts",
      "a/../../x.ts",
      "a\\..\\..\\x.ts",
      "/etc/x.ts",
      "~/x.ts",
      "file:x.ts",
      "C:x.ts",
      "  ",
      "a\u0000.ts",
    ].map((module): [string, HooksSection, string, RegExp] => [
      `the module ${JSON.stringify(module)}`,
      mapping({ transform: { module } }),
      "hooks.mappings[0].transform.module",
      /./,
    ]),
    [
      "a template with a filter",
      mapping({ messageTemplate: "{{a | b}}" }),
      "hooks.mappings[0].messageTemplate",
      /a \| b/,
    ],
    ["a template below a key", mapping({ a: ["{{b(c)}}"] }), "hooks.mappings[0].a", /b\(c\)/],
    [
      "a template above 64 KiB",
      mapping({ messageTemplate: "x".repeat(65_537) }),
      "hooks.mappings[0].messageTemplate",
      /longer than 65536/,
    ],
    [
      "an invalid condition",
      mapping({ match: { when: { a: { matches: "x" } } } }),
      "hooks.mappings[0].match.when",
      /a/,
    ],
    [
      "an invalid header name",
      mapping({ match: { headers: { "a b": "x" } } }),
      "hooks.mappings[0].match.headers",
      /a b/,
    ],
    [
      "a verifier without a secret",
      mapping({ verify: { type: "x" } }),
      "hooks.mappings[0].verify.secret",
      /is required/,
    ],
    ["a blank secret", mapping({ verify: { type: "x", secret: [" "] } }), "hooks.mappings[0].verify.secret", /blank/],
    [
      "a secret that is not used",
      mapping({ verify: { type: "bearer", secret: "x" } }),
      "hooks.mappings[0].verify.secret",
      /not used/,
    ],
    ["an id twice", { mappings: [{ id: "a" }, { id: "a" }] }, "hooks.mappings[1].id", /hooks\.mappings\[0\]/],
    ["a given id like a default one", { mappings: [{ id: "mapping-2" }, {}] }, "hooks.mappings[1].id", /mapping-2/],
  ];
  for (const [why, section, path, message] of refused) {
    it(`is refused for ${why}`, () => {
      assert.ok(matches(Schema, section), "what is refused here passes the schema");
      const [issue, ...others] = issuesOf(section);
      assert.equal(issue?.path, path);
      assert.match(issue?.message ?? "", message);
      assert.deepEqual(others, []);
    });
  }

  const withPlugins: [why: string, hooks: Record<string, unknown>, path: string, message: RegExp][] = [
    [
      "an unknown key of a mapping",
      mapping({ mesageTemplate: "x" }),
      "hooks.mappings[0]",
      /unexpected property 'mesageTemplate'/,
    ],
    [
      "an unknown key of a mapping that has a transform",
      mapping({ mesageTemplate: "x", transform: { module: "a.ts" } }),
      "hooks.mappings[0]",
      /unexpected property 'mesageTemplate'/,
    ],
    [
      "a key that only presets have",
      mapping({ contentSource: "email" }),
      "hooks.mappings[0]",
      /unexpected property 'contentSource'/,
    ],
    [
      "a field under its own name, for which mappings use another key",
      mapping({ message: "x" }),
      "hooks.mappings[0]",
      /unexpected property 'message'/,
    ],
    [
      "a key of another action",
      mapping({ action: "note", textTemplate: "x", deliver: true }),
      "hooks.mappings[0].deliver",
      /has no effect: it is a key of the action "task", and this mapping's action is "note"; remove it/,
    ],
    [
      "a deliver that is not a boolean",
      mapping({ deliver: "yes" }),
      "hooks.mappings[0].deliver",
      /is not a value that the action "task" accepts/,
    ],
    [
      "a value that the action does not accept",
      mapping({ action: "note", textTemplate: "x", wakeMode: "tomorrow" }),
      "hooks.mappings[0].wakeMode",
      /now or later/,
    ],
    [
      "an unknown verifier",
      mapping({ verify: { type: "unheard", secret: "s" } }),
      "hooks.mappings[0].verify.type",
      /there are: bearer, odd/,
    ],
    ["an unknown preset", { presets: ["nothing"] }, "hooks.presets", /"nothing"; there are: none/],
    [
      "a preset of a plugin that is not in use",
      { presets: ["gmail"] },
      "hooks.presets",
      /plugin preset-gmail, which is disabled/,
    ],
  ];
  for (const path of ["/tools", "/tools/hooks", "/tools/invoke"])
    it(`keeps a gateway from starting when a plugin has a route like the path ${path}`, (t) =>
      assert.rejects(
        webhookGateway(t, { hooks: { path }, plugins: ["sessions", "tools", "http-tools"] }),
        /hooks\.path: begins like the route POST \/tools\/invoke of plugin http-tools; choose another path, e\.g\. \/hooks/,
      ));

  for (const path of ["/v1", "/v1/hooks"])
    it(`keeps a gateway of the full bundle from starting with the path ${path}`, (t) =>
      assert.rejects(
        testGateway(t, { config: { hooks: { enabled: true, token: TOKEN, path } } }),
        /hooks\.path: begins like the route [A-Z]+ \/v1\//,
      ));

  it("a token that can be guessed is a warning on this machine", async (t) => {
    const { gateway, service } = await webhookGateway(t, { hooks: { token: "a" } });
    const [problem, ...others] = service?.check() ?? [];
    assert.deepEqual([problem?.path, problem?.severity, others], ["hooks.token", "warning", []]);
    assert.ok(gateway.warnings.some((line) => line.startsWith("hooks.token: has 1 characters and can be guessed")));
  });

  for (const [why, hooks, path, message] of withPlugins) {
    it(`keeps a gateway from starting for ${why}`, async (t) => {
      await assert.rejects(webhookGateway(t, { hooks }), (error: Error) => {
        assert.equal(error.name, "StartupRefusal");
        assert.ok(error.message.includes(`${path}: `), error.message);
        return message.test(error.message);
      });
    });
  }
});
