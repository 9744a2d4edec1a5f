import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createConverseApi } from "../../../plugins/provider-bedrock/api.ts";
import { serverOf, withCredentials } from "../../../plugins/provider-bedrock/credentials.ts";
import { createProvider } from "../../../plugins/provider-bedrock/provider.ts";

const clock = { now: () => Date.parse("2026-01-02T03:04:05.678Z") };
const ENV = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  AWS_REGION: "us-east-1",
};
const request = {
  method: "POST",
  url: "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse-stream",
  headers: { "content-type": "application/json" },
  body: '{"messages":[]}',
} as const;

describe("the server of an account", () => {
  const rows: [
    baseUrl: string | undefined,
    env: Record<string, string>,
    address: string,
    control: string,
    region: string | undefined,
  ][] = [
    [
      undefined,
      { AWS_REGION: "eu-central-1" },
      "https://bedrock-runtime.eu-central-1.amazonaws.com",
      "https://bedrock.eu-central-1.amazonaws.com",
      "eu-central-1",
    ],
    [
      "https://bedrock-runtime-fips.us-west-2.amazonaws.com/",
      { AWS_REGION: "eu-central-1" },
      "https://bedrock-runtime-fips.us-west-2.amazonaws.com",
      "https://bedrock-fips.us-west-2.amazonaws.com",
      "us-west-2",
    ],
    ["https://proxy.example/aws", {}, "https://proxy.example/aws", "https://proxy.example/aws", undefined],
    [
      "https://proxy.example",
      { AWS_DEFAULT_REGION: "eu-west-1" },
      "https://proxy.example",
      "https://proxy.example",
      "eu-west-1",
    ],
  ];
  for (const [baseUrl, env, address, control, region] of rows)
    it(`is ${address} with ${JSON.stringify(env)}`, () => {
      const account = { name: "acme", ...(baseUrl === undefined ? {} : { baseUrl }) };
      assert.deepEqual(serverOf(account, env), { address, control, region });
    });

  it("is refused without a region, with the settings that name one", () =>
    assert.throws(() => serverOf({ name: "acme" }, {}), {
      code: "UNAVAILABLE",
      details: { kind: "network" },
      message: /models\.providers\.acme\.baseUrl.*AWS_REGION/u,
    }));
});

describe("credentials of a request", () => {
  const server = { region: "us-east-1" };

  it("are the key of the account before those of the environment", async () => {
    const headers = await withCredentials(request, { name: "acme", apiKey: "key" }, server, { clock, env: ENV });
    assert.equal(headers.get("authorization"), "Bearer key");
    assert.equal(headers.get("x-amz-date"), null);
  });

  it("are an authorization header of the account", async () => {
    const account = { name: "acme", headers: { Authorization: "Bearer other" } };
    const headers = await withCredentials(request, account, server, { clock, env: ENV });
    assert.equal(headers.get("authorization"), "Bearer other");
  });

  it("are a signature of version 4, equal to that of Amazon's own library", async () => {
    const headers = await withCredentials(request, { name: "acme" }, server, { clock, env: ENV });
    assert.equal(headers.get("x-amz-date"), "20260102T030405Z");
    assert.equal(headers.get("authorization"), SIGNED);
    const session = { ...ENV, AWS_SESSION_TOKEN: "token" };
    const other = await withCredentials(request, { name: "acme" }, server, { clock, env: session });
    assert.equal(other.get("x-amz-security-token"), "token");
    assert.equal(other.get("authorization"), SIGNED_SESSION);
  });

  const refusals: [why: string, env: Record<string, string>, region: string | undefined, message: RegExp][] = [
    ["without any", {}, "us-east-1", /set models\.providers\.acme\.apiKey .* AWS_ACCESS_KEY_ID/u],
    ["with half of them", { AWS_ACCESS_KEY_ID: "AKIDEXAMPLE" }, "us-east-1", /AWS_SECRET_ACCESS_KEY/u],
    ["without a region", ENV, undefined, /AWS_REGION/u],
  ];
  for (const [why, env, region, message] of refusals)
    it(`are refused ${why}`, () =>
      assert.rejects(withCredentials(request, { name: "acme" }, { region }, { clock, env }), {
        code: "UNAVAILABLE",
        details: { kind: "auth" },
        message,
      }));

  it("of the environment are named when they are refused, and never quoted", async () => {
    const fetch = async () =>
      new Response(JSON.stringify({ message: `AKIDEXAMPLE and ${ENV.AWS_SECRET_ACCESS_KEY} are wrong` }), {
        status: 403,
      });
    const provider = createProvider(createConverseApi({ clock, env: ENV, fetch }));
    const model = { provider: "acme", id: "m", name: "M", api: "x" };
    const stream = provider.stream(
      { model, system: "", messages: [], tools: [] },
      { name: "acme" },
      new AbortController().signal,
    );
    await assert.rejects(stream[Symbol.asyncIterator]().next(), (error: Error) => {
      assert.match(error.message, /refused the key \(403\): check AWS_ACCESS_KEY_ID.*\*\*\* and \*\*\* are wrong/u);
      return true;
    });
  });
});

/** Computed with @smithy/signature-v4 5.7.5. */
const SIGNED =
  "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=ccfeadc1335399016c64bcf660ba06ff1832df8a9de8f7a135aa3ef66d13ee5e";
const SIGNED_SESSION =
  "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=aedfc7f82ba81b50e7f475d1b5e54903b224b7fe6f6ce98b398e85a7a4b8ae7e";
