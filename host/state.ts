/**
 * For commands that find a gateway: where its files lie, its configuration file, and the credentials it left. Loads no schema and
 * no library, so that a call of a method starts fast. No API promise: it changes with the host.
 */
export { readLocalKey } from "./auth/local-key.ts";
export { readKeptToken } from "./auth/secret.ts";
export { type ConfigFile, type Issue, readConfigFile } from "./config/file.ts";
export { type Environment, type Paths, preparePaths, resolvePaths } from "./config/paths.ts";
