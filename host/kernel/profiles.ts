/** Named lists of plugins. They are data of the bundle: this file knows none of them. */
import { createRequire } from "node:module";
import { describeViolations, matches, NonEmpty, type Static, Strict, Type } from "@svc/sdk";
import { BUNDLE_PACKAGE } from "./load.ts";

const Profile = Strict({
  /** One line for people. */
  summary: NonEmpty,
  /** Exactly these, by id. Absent: the whole bundle. */
  plugins: Type.Optional(Type.Array(NonEmpty, { uniqueItems: true })),
});
export type Profile = Static<typeof Profile>;

const Profiles = Type.Record(NonEmpty, Profile);

/**
 * What the bundle's package.json says under `svc-profiles`, by name; none where the bundle is not installed.
 * @throws Error when that key is wrong
 */
export function bundleProfiles(): ReadonlyMap<string, Profile> {
  const require = createRequire(import.meta.url);
  let file: string;
  try {
    file = require.resolve(`${BUNDLE_PACKAGE}/package.json`);
  } catch {
    return new Map();
  }
  const { "svc-profiles": profiles = {} } = require(file) as { "svc-profiles"?: unknown };
  if (!matches(Profiles, profiles))
    throw new Error(`${file}, key "svc-profiles": ${describeViolations(Profiles, profiles)}`);
  return new Map(Object.entries(profiles));
}
