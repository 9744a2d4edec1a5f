/** The configuration section `cron`. Spec: http/config-keys.md. */
import { DURATION_PATTERN } from "@svc/kit/time";
import { type Static, Strict, Type } from "@svc/sdk";
import { SecretSetting } from "@svc/sdk/secrets";

/** Spec: §10. */
export const ONE_SHOT_BACKOFF_MS = [30_000, 60_000, 300_000];

const said = (description: string) => Type.Optional(Type.String({ minLength: 1, description }));
const Mode = Type.Optional(
  Type.Enum(["announce", "webhook"], { description: "announce: through a channel; webhook: to an address" }),
);

export const CronConfig = Type.Object({
  enabled: Type.Boolean({ default: true, description: "false: no job runs by itself; by hand they do" }),
  maxConcurrentRuns: Type.Optional(
    Type.Integer({
      minimum: 1,
      description:
        "jobs that run at the same time. Default: as many as are due, so that one that hangs holds up no other",
    }),
  ),
  retry: Type.Object(
    {
      maxAttempts: Type.Integer({ default: 3, minimum: 0, maximum: 10, description: "of a job that runs once" }),
      backoffMs: Type.Array(Type.Integer({ minimum: 0 }), {
        default: ONE_SHOT_BACKOFF_MS,
        minItems: 1,
        maxItems: 10,
        description: "milliseconds before each; the last one goes for all further ones",
      }),
      retryOn: Type.Array(Type.Enum(["rate_limit", "network", "timeout", "server_error"]), {
        default: ["rate_limit", "network", "timeout", "server_error"],
        description: "failures after which it is tried again",
      }),
    },
    { default: {}, additionalProperties: false },
  ),
  webhookToken: Type.Optional(SecretSetting({ description: "sent to webhooks as `Authorization: Bearer …`" })),
  sessionRetention: Type.Union([Type.String({ pattern: DURATION_PATTERN }), Type.Literal(false)], {
    default: "24h",
    description: "how long the session of each run stays, e.g. `12h` or `7d`; false: for ever",
  }),
  runLog: Type.Object(
    { keepLines: Type.Integer({ default: 2_000, minimum: 1, description: "records of one job that are kept" }) },
    { default: {}, additionalProperties: false },
  ),
  failureAlert: Type.Object(
    {
      enabled: Type.Boolean({ default: false, description: "for jobs that do not say so themselves" }),
      after: Type.Integer({ default: 2, minimum: 1, description: "errors in a row" }),
      cooldownMs: Type.Integer({ default: 3_600_000, minimum: 0, description: "between two alerts of one job" }),
      mode: Mode,
      accountId: said("login of the channel"),
    },
    { default: {}, additionalProperties: false },
  ),
  failureDestination: Type.Optional(
    Strict({
      channel: said("default: where the agent's main session was spoken to last"),
      to: said("recipient, or the address of a webhook"),
      accountId: said("login of the channel"),
      mode: Mode,
    }),
  ),
});
export type CronConfig = Static<typeof CronConfig>;
