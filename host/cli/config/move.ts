/** `svc config move`: moves the configuration of a running gateway to the database that it shares with others, or back. */
import { config } from "@svc/sdk/config";
import { atGateway } from "../connect.ts";
import { type Output, WrongUsage } from "../output.ts";
import type { TargetFlags } from "../target.ts";

const PLACES = ["database", "file"] as const;
const TEXTS = {
  database:
    "The configuration is in the database now, and all gateways on it use it. Change it as before, at any gateway; the file of each is a copy.",
  file: "Each gateway uses its own configuration file now; until it is changed, that is the copy.",
};

/** @returns the exit code */
export async function moveConfig({ to, ...target }: TargetFlags & { to?: string }, output: Output): Promise<number> {
  const place = PLACES.find((name) => name === to);
  if (!place) throw new WrongUsage("name the place: --to database or --to file");
  const { isMoved } = await atGateway(target, (client) => client.call(config.move, { to: place }), {
    scopes: ["operator.admin"],
  });
  output.print(
    output.json ? { to: place, isMoved } : isMoved ? TEXTS[place] : `The configuration is in the ${place} already.`,
  );
  return 0;
}
