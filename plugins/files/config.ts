/** The configuration section `files`. */
import { ADDRESS_PATTERN } from "@svc/kit/channels";
import { type ConfigView, type ConfigWarning, type Static, Strict, Type } from "@svc/sdk";

const MAX_FILE_BYTES = 25_000_000;
/** Directories and files that each gateway has of its own: they are large, can be made again, or belong to one machine. */
const IGNORED = [".git", "node_modules", ".venv", "venv", "__pycache__", ".cache", ".DS_Store"];

export const BUCKET_DEFAULTS = { region: "us-east-1", prefix: "svc/" };

const Bucket = Strict({
  url: Type.String({
    pattern: ADDRESS_PATTERN,
    description: "address of the bucket, e.g. https://s3.eu-central-1.amazonaws.com/my-bucket",
  }),
  region: Type.Optional(
    Type.String({ minLength: 1, description: `region of the signature; default ${BUCKET_DEFAULTS.region}` }),
  ),
  accessKeyId: Type.String({
    minLength: 1,
    description: "name of an access key that may read, write and delete objects",
  }),
  secretAccessKey: Type.String({ minLength: 1, sensitive: true, description: "secret of the access key" }),
  prefix: Type.Optional(
    Type.String({ description: `beginning of all object names; default ${BUCKET_DEFAULTS.prefix}` }),
  ),
});
export type Bucket = Static<typeof Bucket>;

export const FilesConfig = Strict({
  directory: Type.Optional(
    Type.String({ minLength: 1, description: "directory on a file system that all gateways mount" }),
  ),
  s3: Type.Optional(Bucket),
  maxFileBytes: Type.Integer({
    default: MAX_FILE_BYTES,
    minimum: 1_000,
    maximum: 100_000_000,
    description: "larger files are not shared",
  }),
  ignore: Type.Array(Type.String({ minLength: 1, pattern: "^[^/]+$" }), {
    default: IGNORED,
    maxItems: 100,
    description: "names of files and directories that are not shared",
  }),
});
export type FilesConfig = Static<typeof FilesConfig>;

export function twoStores({ config }: ConfigView): ConfigWarning[] {
  const { directory, s3 } = Object(Object(config)["files"]) as { readonly directory?: unknown; readonly s3?: unknown }; // only looked at
  if (directory === undefined || s3 === undefined) return [];
  return [{ path: "files.directory", message: "it is not used, because files.s3 is set; next: remove one of the two" }];
}
