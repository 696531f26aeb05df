/** A real S3 server: Ceph's gateway with a minimal cluster, objects in memory. It takes about 15 s to start, and 25 s to install. */
import { randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { Daemons, type Service } from './daemons.ts';
import { lackingPackages } from './debian.ts';
import { freePort } from './free-port.ts';

const PACKAGES = ['radosgw', 'ceph-mon', 'ceph-osd', 'ceph-common'];
const COMMANDS = ['radosgw', 'radosgw-admin', 'ceph-mon', 'ceph-osd', 'ceph', 'ceph-authtool', 'monmaptool', 'setpriv'];
/** The owner of all buckets, and a user without any. */
const USERS = { owner: 'owner-secret', stranger: 'stranger-secret' };

/** @returns the reason when it can be neither found nor installed */
export async function startRadosgw(): Promise<Service | string> {
  const lacking = await lackingPackages(PACKAGES, COMMANDS);
  if (lacking !== null) return lacking;
  const daemons = await Daemons.make('radosgw');
  try {
    const [monitorPort, port] = [await freePort(), await freePort()];
    await makeMonitor(daemons, monitorPort, port);
    await makeStore(daemons);
    await ceph(daemons, 'auth', 'add', 'client.rgw', '-i', 'rgw.keyring');
    for (const [user, secret] of Object.entries(USERS)) {
      await daemons.run('radosgw-admin', [
        '-c',
        'ceph.conf',
        'user',
        'create',
        '--uid',
        user,
        '--display-name',
        user,
        '--access-key',
        user,
        '--secret',
        secret,
      ]);
    }
    daemons.start('radosgw', 'radosgw', ['-f', '-c', 'ceph.conf', '-n', 'client.rgw', '-k', 'rgw.keyring']);
    await daemons.listens('radosgw', port);
    return { facts: { endpoint: `http://127.0.0.1:${port}`, ...USERS }, end: () => daemons.end() };
  } catch (error) {
    await daemons.end();
    throw error;
  }
}

/** The monitor, and the keys of all daemons. */
async function makeMonitor(daemons: Daemons, monitorPort: number, port: number): Promise<void> {
  const cluster = randomUUID();
  await writeFile(daemons.at('ceph.conf'), configuration(daemons.folder, cluster, monitorPort, port));
  const keyring = (file: string, name: string, ...caps: string[]): Promise<string> =>
    daemons.run('ceph-authtool', [file, '--create-keyring', '--gen-key', '-n', name, ...caps]);
  const all = ['--cap', 'mon', 'allow *', '--cap', 'osd', 'allow *', '--cap', 'mgr', 'allow *'];
  await keyring('mon.keyring', 'mon.', '--cap', 'mon', 'allow *');
  await keyring('admin.keyring', 'client.admin', ...all);
  await keyring('rgw.keyring', 'client.rgw', '--cap', 'mon', 'allow rwx', '--cap', 'osd', 'allow rwx');
  await daemons.run('ceph-authtool', ['mon.keyring', '--import-keyring', 'admin.keyring']);
  await daemons.run('monmaptool', ['--create', '--addv', 'a', `[v2:127.0.0.1:${monitorPort}/0]`, '--fsid', cluster, 'monmap']);
  await daemons.run('ceph-mon', ['-c', 'ceph.conf', '--mkfs', '-i', 'a', '--monmap', 'monmap', '--keyring', 'mon.keyring']);
  daemons.start('mon', 'ceph-mon', ['-f', '-c', 'ceph.conf', '-i', 'a']);
  await daemons.listens('mon', monitorPort);
}

/** One store for all objects, in memory. */
async function makeStore(daemons: Daemons): Promise<void> {
  const id = randomUUID();
  await mkdir(daemons.at('osd'));
  await daemons.run('ceph-authtool', [
    'osd.keyring',
    '--create-keyring',
    '--gen-key',
    '-n',
    'osd.0',
    '--cap',
    'osd',
    'allow *',
    '--cap',
    'mon',
    'allow profile osd',
  ]);
  await ceph(daemons, 'osd', 'new', id);
  await ceph(daemons, 'auth', 'add', 'osd.0', '-i', 'osd.keyring');
  await ceph(daemons, 'osd', 'crush', 'add', 'osd.0', '1.0', 'root=default', 'host=here');
  await daemons.run('ceph-osd', [
    '-c',
    'ceph.conf',
    '-i',
    '0',
    '--mkfs',
    '--osd-uuid',
    id,
    '--osd-data',
    daemons.at('osd'),
    '--keyring',
    'osd.keyring',
  ]);
  daemons.start('osd', 'ceph-osd', ['-f', '-c', 'ceph.conf', '-i', '0', '--keyring', 'osd.keyring']);
}

function ceph(daemons: Daemons, ...args: string[]): Promise<string> {
  return daemons.run('ceph', ['-c', 'ceph.conf', ...args]);
}

/** With `auth_*_required = none` the gateway would never open its port. */
function configuration(folder: string, cluster: string, monitorPort: number, port: number): string {
  return `[global]
fsid = ${cluster}
mon_initial_members = a
mon_host = [v2:127.0.0.1:${monitorPort}/0]
ms_bind_msgr1 = false
public_network = 127.0.0.0/8
auth_cluster_required = cephx
auth_service_required = cephx
auth_client_required = cephx
keyring = ${folder}/admin.keyring
run_dir = ${folder}
log_file = ${folder}/$name.log
admin_socket = ${folder}/$name.asok
mon_data = ${folder}/mon
osd_data = ${folder}/osd
osd_objectstore = memstore
osd_class_dir = /usr/lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu/rados-classes
osd_crush_chooseleaf_type = 0
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
rgw_frontends = beast endpoint=127.0.0.1:${port}
rgw_enable_usage_log = false
`;
}
