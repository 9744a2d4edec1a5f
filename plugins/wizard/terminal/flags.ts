/** Options of `svc onboard`, and whether a person answers. */
import { canAsk, type CommandContext } from "@svc/sdk/cli";

export interface OnboardFlags {
  readonly yes?: boolean;
  readonly provider?: string;
  readonly keyEnv?: string;
  readonly workspace?: string;
  readonly installService?: boolean;
}

export function isPerson(context: CommandContext, { yes }: OnboardFlags): boolean {
  return yes !== true && canAsk(context);
}
