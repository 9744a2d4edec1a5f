/** The visible effects of the section `hooks`: to an operator, internally and over HTTP. */
import { createHmac } from "node:crypto";
import { webhooks as methods } from "@svc/sdk/webhooks";
import type { Bundle } from "./config-bundle.ts";

/** Enabled webhooks; each case adds one key. */
export const HOOKS_ON = { enabled: true, token: "sample-hook-token" };

/** Secret that signs requests of the picture. */
export const SIGNING_SECRET = "sample-signing-secret-of-the-picture";

/** Age in seconds of the picture's signed time. */
const AGE = 120;

/** Everything a sender and an operator can see, without starting anything. */
export async function hooksPicture({ inside, gateway, clock, client }: Bundle): Promise<unknown> {
  const { webhooks } = inside;
  const http = gateway.url.replace("ws", "http");
  const post = async (path: string, headers: Record<string, string>, body = "{}") => {
    const answer = await fetch(`${http}${path}`, { method: "POST", headers, body });
    return `${answer.status} ${await answer.text()}`;
  };
  const sign = (text: string) => createHmac("sha256", SIGNING_SECRET).update(text).digest("hex");
  const signedAt = Math.floor(clock.now() / 1_000) - AGE;
  const attempt = async (mapping: string, payload: object, headers: Record<string, string> = {}) =>
    webhooks
      .try({ mapping, payload, headers, ...(mapping === "agent" ? {} : { path: mapping }) })
      .then(withoutChance, (error: Error) => error.message);
  const { problems } = await client.call(methods.check, {}); // reloads the transforms, so the list is final
  return {
    problems,
    list: await client.call(methods.list, {}),
    asked: await attempt("agent", { message: "m", sessionKey: "sample", agentId: "main" }),
    unasked: await attempt("agent", { message: "m" }),
    mapped: await attempt("sample", { source: "sample", text: "t" }, { "x-sample": "sample" }),
    // None of these gets past the fields: each lacks the required text.
    unsigned: await post("/hooks/sample", {}),
    byGithub: await post("/hooks/sample", { "x-hub-signature-256": `sha256=${sign("{}")}` }),
    byStripe: await post("/hooks/sample", { "stripe-signature": `t=${signedAt},v1=${sign(`${signedAt}.{}`)}` }),
    trusted: await post("/hooks/wake", { authorization: `Bearer ${HOOKS_ON.token}` }, '{"text":" "}'),
    elsewhere: await post("/sample/wake", { authorization: `Bearer ${HOOKS_ON.token}` }, '{"text":" "}'),
  };
}

/** Generated keys differ each time. */
function withoutChance(report: unknown): unknown {
  return JSON.parse(JSON.stringify(report).replaceAll(/hook:[0-9a-f-]{36}/g, "hook:generated"));
}
