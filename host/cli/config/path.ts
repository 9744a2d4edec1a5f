/** Paths of settings on the command line, whose faults are wrong usage. */
import { parseSetting, settingPlace, type SettingPath } from "@svc/sdk/cli";
import { messageOf } from "@svc/sdk/errors";
import { WrongUsage } from "../output.ts";

export { settingText as formatPath, type SettingPath as Path, valueAt } from "@svc/sdk/cli";

/** @throws WrongUsage when the text is not a path */
export const parsePath = (text: string): SettingPath => asUsage(() => parseSetting(text));

/** @throws WrongUsage for a forbidden key */
export const placeIn = (value: unknown, path: SettingPath): SettingPath => asUsage(() => settingPlace(value, path));

function asUsage<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new WrongUsage(messageOf(error));
  }
}
