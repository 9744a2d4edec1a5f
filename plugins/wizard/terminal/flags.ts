/** Options of `svc onboard`, and whether a person answers. */
import { type CommandContext, isTerminal } from "@svc/sdk/cli";

export interface OnboardFlags {
  readonly yes?: boolean;
  readonly provider?: string;
  readonly keyEnv?: string;
  readonly workspace?: string;
  readonly installService?: boolean;
}

export function isPerson({ json, input, output }: CommandContext, { yes }: OnboardFlags): boolean {
  return yes !== true && !json && isTerminal(input) && isTerminal(output);
}
