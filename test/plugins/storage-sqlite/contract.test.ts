/** `Storage` in a file. */
import { join } from "node:path";
import { openStorage } from "../../../plugins/storage-sqlite/storage.ts";
import { storageContract } from "../storage-contract.ts";
import { tempDirectory } from "./temp-directory.ts";

storageContract(async (t) => {
  const { storage, close } = await openStorage({ file: join(tempDirectory(t), "svc.db") });
  t.after(close);
  return storage;
});
