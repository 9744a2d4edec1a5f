/** The preset with the settings of this gateway. Pure. */
import type { WebhookPreset } from "@svc/sdk/webhooks";
import type { GithubConfig } from "./config.ts";
import { MAPPINGS } from "./mappings.ts";

/** With a secret every mapping requires GitHub's signature; without one, the hook token. */
export function githubPreset({ secret }: GithubConfig): WebhookPreset {
  const verify = secret === undefined ? {} : { verify: { type: "github", secret } };
  return {
    summary: "Issues, pull requests, failures, pushes and releases of GitHub: an agent handles them",
    mappings: MAPPINGS.map((mapping) => ({ ...mapping, ...verify })),
  };
}
