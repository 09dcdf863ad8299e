import { restoreData } from '../storage/sqlite/backup.ts';
import { listAccounts } from './accounts.ts';

/** An account of a backup, with the projects that it would see. */
export type ListedAccount = Awaited<ReturnType<typeof listAccounts>>[number];

/**
 * Replaces a data file by the rows of a backup.
 * @param confirm is called with the accounts of the backup; nothing is changed if it returns false.
 * @returns as `restoreData` does.
 * @throws HeddleError as `restoreData` does.
 */
export function restoreService(
  dataFile: string,
  backup: string,
  confirm: (accounts: ListedAccount[]) => Promise<boolean>,
): ReturnType<typeof restoreData> {
  return restoreData(dataFile, backup, async (restored) => confirm(await listAccounts(restored)));
}
