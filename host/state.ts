/**
 * For commands that connect to a gateway: its paths, its configuration file, and its stored credentials. Loads no schema and
 * no library, so that a call starts fast. Not a stable API: it changes with the host.
 */
export { readLocalKey } from "./auth/local-key.ts";
export { readKeptToken } from "./auth/secret.ts";
export { type ConfigFile, type Issue, readConfigFile } from "./config/file.ts";
export { type Environment, type Paths, preparePaths, resolvePaths } from "./config/paths.ts";
