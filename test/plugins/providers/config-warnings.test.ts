/** Settings that cannot work, by the API that they are for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigView } from "@svc/sdk";
import bedrockPlugin from "../../../plugins/provider-bedrock/plugin.ts";
import googlePlugin from "../../../plugins/provider-google/plugin.ts";
import openaiPlugin from "../../../plugins/provider-openai/plugin.ts";

/** The path of each warning of all three plugins. */
function warned(provider: object): string[] {
  const view: ConfigView = { config: { models: { providers: { acme: provider } } }, contributions: () => undefined };
  const found = [openaiPlugin, googlePlugin, bedrockPlugin].flatMap(
    ({ configWarnings }) => configWarnings?.(view) ?? [],
  );
  assert.ok(found.every(({ breaks, message }) => breaks === true && message !== ""));
  return found.map(({ path }) => path.replace(/^models\.providers\.acme/u, ""));
}

const responses = { api: "openai-responses" };
const google = { api: "google-generative-ai" };
const bedrock = { api: "bedrock-converse-stream" };
const apiKey = "k";
const rows: [why: string, provider: object, paths: string[]][] = [
  ["another API", { api: "openai-completions" }, []],
  ["responses with a key", { ...responses, apiKey }, []],
  ["responses of a server without keys", { ...responses, baseUrl: "http://127.0.0.1:1/v1" }, []],
  ["responses of OpenAI without a key", responses, [""]],
  ["a model with responses", { api: "x", models: [{ id: "m" }, { id: "n", api: "openai-responses" }] }, [""]],
  ["the whole address of responses", { ...responses, baseUrl: "https://a.example/v1/responses" }, [".baseUrl"]],
  ["Google with a key", { ...google, apiKey }, []],
  ["Google with a key reference", { ...google, apiKey: { source: "env", provider: "x", id: "Y" } }, []],
  ["Google with a header", { ...google, headers: { Authorization: "Bearer x" } }, []],
  ["Google without a key", google, [""]],
  ["Google's account without a key", { ...google, accounts: [{ name: "a", apiKey }, { name: "b" }] }, [".accounts[1]"]],
  ["Google with the key in another header", { ...google, apiKey, authHeader: false }, [".authHeader"]],
  [
    "Google's accounts with the key in another header",
    {
      ...google,
      authHeader: true,
      accounts: [
        { name: "a", apiKey },
        { name: "b", apiKey },
      ],
    },
    [".authHeader"],
  ],
  [
    "Google's chat completions",
    { ...google, apiKey, baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" },
    [".baseUrl"],
  ],
  [
    "Google without a version",
    { ...google, apiKey, baseUrl: "https://generativelanguage.googleapis.com" },
    [".baseUrl"],
  ],
  ["Google with a version", { ...google, apiKey, baseUrl: "https://generativelanguage.googleapis.com/v1beta/" }, []],
  ["a proxy of Google", { ...google, apiKey, baseUrl: "https://proxy.example" }, []],
  ["Bedrock with the environment", bedrock, []],
  ["Bedrock with a key", { ...bedrock, apiKey, baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com" }, []],
  ["Bedrock with the key in another header", { ...bedrock, apiKey, authHeader: false }, [".authHeader"]],
  ["Bedrock's control plane", { ...bedrock, baseUrl: "https://bedrock.us-east-1.amazonaws.com" }, [".baseUrl"]],
  [
    "Bedrock with a path, in an account",
    { ...bedrock, accounts: [{ name: "a", baseUrl: "https://bedrock-runtime.us-east-1.amazonaws.com/model" }] },
    [".accounts[0].baseUrl"],
  ],
];

describe("warnings about settings of model servers", () => {
  for (const [why, provider, paths] of rows) it(`for ${why}`, () => assert.deepEqual(warned(provider), paths));

  it("are none without models", () => {
    const view: ConfigView = { config: {}, contributions: () => undefined };
    assert.deepEqual(googlePlugin.configWarnings?.(view), []);
  });
});
