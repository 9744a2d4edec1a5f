/** Section `update` of the configuration. Spec: http/config-keys.md. Choice: the defaults, which the facts leave open. */
import { type Static, Strict, Type } from "@svc/sdk";

const hours = (description: string, limits: object) => Type.Optional(Type.Number({ description, ...limits }));

export const UpdateSettings = Type.Object({
  channel: Type.Enum(["stable", "beta", "dev"], {
    default: "stable",
    description:
      "Which versions count: stable is the tag latest of the registry, beta and dev are the tags of that name; a checkout follows its branch",
  }),
  checkOnStart: Type.Boolean({
    default: true,
    description: "Look for a newer version two minutes after the start and once a day; false: only when somebody asks",
  }),
  auto: Type.Optional(
    Strict({
      enabled: Type.Optional(
        Type.Boolean({ description: "Install what was found without being asked, and restart. Default false" }),
      ),
      stableDelayHours: hours("Hours a stable version is known before it is installed. Default 24", {
        minimum: 0,
        maximum: 168,
      }),
      stableJitterHours: hours("Up to so many hours more, the same for one gateway every time. Default 12", {
        minimum: 0,
        maximum: 168,
      }),
      betaCheckIntervalHours: hours(
        "Hours between two looks on the channels beta and dev, which are installed at once. Default 6",
        {
          exclusiveMinimum: 0,
          maximum: 24,
        },
      ),
    }),
  ),
});

export type UpdateSettings = Static<typeof UpdateSettings>;
