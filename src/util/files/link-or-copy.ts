import { constants, copyFile, link } from 'node:fs/promises';

/** Errors of disks without hard links, and of files that have the maximum number of links. */
const NO_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'];

/** Gives a file a second name, or copies it when the disk has no hard links. @throws the disk's error, such as EEXIST for `to` */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  await link(from, to).catch(async (error: unknown) => {
    if (!NO_LINKS.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    await copyFile(from, to, constants.COPYFILE_EXCL);
  });
}
