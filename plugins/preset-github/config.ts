/** Section `hooks.github`. */
import { type Static, Strict, Type } from "@svc/sdk";

const Secret = Type.String({ minLength: 1, sensitive: true });

export const GithubConfig = Strict({
  secret: Type.Optional(
    Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 16 })], {
      description:
        "Secret of the webhook at GitHub; a list while it is replaced. Default: none, the hook token is required.",
    }),
  ),
});
export type GithubConfig = Static<typeof GithubConfig>;
