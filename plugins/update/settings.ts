/** Section `update` of the configuration. Spec: http/config-keys.md. Choice: the defaults, which the specification leaves open. */
import { type Static, Strict, Type } from "@svc/sdk";

const hours = (description: string, limits: object) => Type.Optional(Type.Number({ description, ...limits }));

export const UpdateSettings = Type.Object({
  channel: Type.Enum(["stable", "beta", "dev"], {
    default: "stable",
    description:
      "Registry tag to follow: latest for stable, beta and dev for the channels of that name; a checkout follows its branch",
  }),
  checkOnStart: Type.Boolean({
    default: true,
    description: "Check for a newer version two minutes after the start and once a day; false: only on request",
  }),
  auto: Type.Optional(
    Strict({
      enabled: Type.Optional(
        Type.Boolean({ description: "Install new versions automatically, and restart. Default false" }),
      ),
      stableDelayHours: hours("Hours between finding and installing a stable version. Default 24", {
        minimum: 0,
        maximum: 168,
      }),
      stableJitterHours: hours("Maximum hours added to the delay, a fixed number per gateway. Default 12", {
        minimum: 0,
        maximum: 168,
      }),
      betaCheckIntervalHours: hours(
        "Hours between two checks on the channels beta and dev, whose versions are installed at once. Default 6",
        {
          exclusiveMinimum: 0,
          maximum: 24,
        },
      ),
    }),
  ),
});

export type UpdateSettings = Static<typeof UpdateSettings>;
