/** Section `hooks.github`. */
import { type Static, Strict, Type } from "@svc/sdk";

const Secret = Type.String({ minLength: 1, sensitive: true });

export const GithubConfig = Strict({
  secret: Type.Optional(
    Type.Union([Secret, Type.Array(Secret, { minItems: 1, maxItems: 16 })], {
      description:
        "What the webhook at GitHub is set up with; several while one is replaced. Default: the hook token is asked for.",
    }),
  ),
});
export type GithubConfig = Static<typeof GithubConfig>;
