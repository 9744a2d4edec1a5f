/** Signed requests of the services: published test vectors, and a signer for each scheme. */
import { createHmac } from "node:crypto";
import type { SignedRequest } from "@svc/sdk/webhooks";

/** Headers, a body and the secret it was signed with. */
export interface Sample {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly secret: string;
  /** Unix seconds at which the request is valid. */
  readonly at: number;
}

/** From the documentation of each service; for `stripe`, whose documentation has no secret, made with its own library. */
export const VECTORS = {
  github: {
    headers: { "x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17" },
    body: Buffer.from("Hello, World!"),
    secret: "It's a Secret to Everybody",
    at: 1_700_000_000,
  },
  stripe: {
    headers: {
      "stripe-signature": "t=1492774577,v1=88a022085c6bdb887b02cb26ff76dd681234d9675c0f22844059f55552a8883a",
    },
    body: Buffer.from('{"id":"evt_test_webhook","object":"event"}'),
    secret: "whsec_test_secret",
    at: 1_492_774_577,
  },
  slack: {
    headers: {
      "x-slack-signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
      "x-slack-request-timestamp": "1531420618",
    },
    body: Buffer.from(
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
    ),
    secret: "8f742231b10e8888abcd99yyyzzz85a5",
    at: 1_531_420_618,
  },
  "standard-webhooks": {
    headers: {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    },
    body: Buffer.from('{"test": 2432232314}'),
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    at: 1_614_265_330,
  },
} as const satisfies Record<string, Sample>;

export type SchemeId = keyof typeof VECTORS;

export const SCHEME_IDS = Object.keys(VECTORS) as SchemeId[]; // the keys of the literal above

/** @param later seconds after the signed time */
export function requestOf({ headers, body, at }: Sample, later = 0): SignedRequest {
  return { headers, rawBody: body, now: (at + later) * 1_000 };
}

const hmac = (key: string | Uint8Array, pieces: readonly (string | Uint8Array)[]) =>
  pieces.reduce((made, piece) => made.update(piece), createHmac("sha256", key));

/** A request of each service: one signature per secret if the scheme supports several. */
export const SIGN: Record<SchemeId, (body: Uint8Array, secrets: readonly string[], at: number) => Sample["headers"]> = {
  github: (body, [secret = ""]) => ({ "x-hub-signature-256": `sha256=${hmac(secret, [body]).digest("hex")}` }),
  stripe: (body, secrets, at) => ({
    "stripe-signature": [`t=${at}`, ...secrets.map((one) => `v1=${hmac(one, [`${at}.`, body]).digest("hex")}`)].join(),
  }),
  slack: (body, [secret = ""], at) => ({
    "x-slack-signature": `v0=${hmac(secret, [`v0:${at}:`, body]).digest("hex")}`,
    "x-slack-request-timestamp": String(at),
  }),
  "standard-webhooks": (body, secrets, at) => ({
    "webhook-id": "msg_1",
    "webhook-timestamp": String(at),
    "webhook-signature": secrets
      .map((one) => Buffer.from(one.replace("whsec_", ""), "base64"))
      .map((key) => `v1,${hmac(key, [`msg_1.${at}.`, body]).digest("base64")}`)
      .join(" "),
  }),
};

/** Two possible secrets of a sender, by scheme. */
export const SECRETS: Record<SchemeId, readonly [string, string]> = {
  github: ["the old one", "the new one"],
  stripe: ["whsec_old", "whsec_new"],
  slack: ["8f742231b10e8888abcd99yyyzzz85a5", "00742231b10e8888abcd99yyyzzz85a5"],
  "standard-webhooks": [`whsec_${Buffer.alloc(24, 1).toString("base64")}`, Buffer.alloc(32, 2).toString("base64")],
};
