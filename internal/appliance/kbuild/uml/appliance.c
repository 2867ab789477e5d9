// SPDX-License-Identifier: GPL-2.0
/*
 * What an appliance in User-Mode Linux has of its host, in descriptors that the kernel inherits:
 *
 * appliance_line=N: a stream socket, /dev/appliance in here. UML's own serial lines read a byte with each system call.
 * appliance_plug=N: another. A message configures a disk as the option ubd does ("b=file,,serial"), or removes it ("-b").
 * Descriptors that come with it have the numbers that the text begins with, and /proc/self/fd/N names them. It is answered by a
 * number, 0 or minus the error, and the next one comes after that.
 *
 * It is included at the end of ubd_kern.c, which keeps to itself how disks are configured.
 */

#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/poll.h>

#define LINE_PIECE 65536
#define PLUG_TEXT 512

static int line_fd = -1, plug_fd = -1;
static int line_readable, line_writable;
static DECLARE_WAIT_QUEUE_HEAD(line_wait);
static char *line_in, *line_out;
static DEFINE_MUTEX(line_reading);
static DEFINE_MUTEX(line_writing);

static int __init line_setup(char *str)
{
	return kstrtoint(str, 10, &line_fd) == 0;
}
__setup("appliance_line=", line_setup);

static int __init plug_setup(char *str)
{
	return kstrtoint(str, 10, &plug_fd) == 0;
}
__setup("appliance_plug=", plug_setup);

static irqreturn_t line_in_irq(int irq, void *data)
{
	WRITE_ONCE(line_readable, 1);
	wake_up_interruptible(&line_wait);
	return IRQ_HANDLED;
}

static irqreturn_t line_out_irq(int irq, void *data)
{
	WRITE_ONCE(line_writable, 1);
	wake_up_interruptible(&line_wait);
	return IRQ_HANDLED;
}

/*
 * The host tells of an edge: what could be read or written stays so until it was tried and refused. So a flag is cleared
 * before each attempt, and set again by one that succeeded.
 */
static ssize_t line_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	ssize_t n;

	if (mutex_lock_interruptible(&line_reading))
		return -ERESTARTSYS;
	for (;;) {
		WRITE_ONCE(line_readable, 0);
		n = os_read_file(line_fd, line_in, min_t(size_t, size, LINE_PIECE));
		if (n != -EAGAIN)
			break;
		if (file->f_flags & O_NONBLOCK)
			break;
		if (wait_event_interruptible(line_wait, READ_ONCE(line_readable))) {
			n = -ERESTARTSYS;
			break;
		}
	}
	if (n > 0 || n == -EINTR)
		WRITE_ONCE(line_readable, 1);
	if (n > 0 && copy_to_user(to, line_in, n))
		n = -EFAULT;
	else if (n == 0 && size > 0)
		n = -ENODEV; /* the host hung up */
	mutex_unlock(&line_reading);
	return n;
}

static ssize_t line_write(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	ssize_t n;

	if (mutex_lock_interruptible(&line_writing))
		return -ERESTARTSYS;
	size = min_t(size_t, size, LINE_PIECE);
	if (copy_from_user(line_out, from, size)) {
		mutex_unlock(&line_writing);
		return -EFAULT;
	}
	for (;;) {
		WRITE_ONCE(line_writable, 0);
		n = os_write_file(line_fd, line_out, size);
		if (n != -EAGAIN)
			break;
		if (file->f_flags & O_NONBLOCK)
			break;
		if (wait_event_interruptible(line_wait, READ_ONCE(line_writable))) {
			n = -ERESTARTSYS;
			break;
		}
	}
	if (n > 0 || n == -EINTR)
		WRITE_ONCE(line_writable, 1);
	mutex_unlock(&line_writing);
	return n;
}

static __poll_t line_poll(struct file *file, struct poll_table_struct *table)
{
	__poll_t events = 0;

	poll_wait(file, &line_wait, table);
	if (READ_ONCE(line_readable))
		events |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(line_writable))
		events |= EPOLLOUT | EPOLLWRNORM;
	return events;
}

static const struct file_operations line_fops = {
	.owner = THIS_MODULE,
	.read = line_read,
	.write = line_write,
	.poll = line_poll,
	.llseek = noop_llseek,
};

static struct miscdevice line_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "appliance",
	.fops = &line_fops,
};

/* "FIRST COMMAND": descriptors get the numbers FIRST and FIRST+1. */
static int plug_run(char *text, int *fds)
{
	char *error = "", *command = text;
	int first, n, i, err;

	command = strchr(text, ' ');
	if (!command)
		return -EINVAL;
	*command++ = '\0';
	err = kstrtoint(text, 10, &first);
	if (err)
		return err;
	for (i = 0; i < 2 && fds[i] >= 0; i++) {
		err = os_place_fd(fds[i], first + i);
		if (err < 0)
			return err;
		fds[i] = first + i;
	}
	if (*command == '-') {
		command++;
		n = parse_unit(&command);
		if (n < 0 || n >= MAX_DEV)
			return -EINVAL;
		flush_delayed_fput(); /* whoever looked for partitions has just closed it */
		return ubd_remove(n, &error);
	}
	err = ubd_config(command, &error);
	if (err)
		pr_err("appliance: %s\n", error);
	return err > 0 ? -EINVAL : err;
}

static void plug_work(struct work_struct *work)
{
	static char text[PLUG_TEXT];
	char answer[16];
	int fds[2], i, n;

	for (;;) {
		fds[0] = fds[1] = -1;
		n = os_rcv_fd_msg(plug_fd, fds, 2, text, sizeof(text) - 1);
		if (n == -EINTR)
			continue;
		if (n <= 0)
			return;
		text[n] = '\0';
		n = plug_run(text, fds);
		for (i = 0; i < 2; i++)
			if (fds[i] >= 0)
				os_close_file(fds[i]);
		n = scnprintf(answer, sizeof(answer), "%d", n);
		os_write_file(plug_fd, answer, n);
	}
}
static DECLARE_WORK(plug_worker, plug_work);

static irqreturn_t plug_irq(int irq, void *data)
{
	schedule_work(&plug_worker);
	return IRQ_HANDLED;
}

static int __init line_init(void)
{
	int err;

	if (line_fd < 0)
		return 0;
	line_in = kmalloc(LINE_PIECE, GFP_KERNEL);
	line_out = kmalloc(LINE_PIECE, GFP_KERNEL);
	if (!line_in || !line_out)
		return -ENOMEM;
	err = os_set_fd_block(line_fd, 0);
	if (err)
		return err;
	line_readable = line_writable = 1; /* until it is tried */
	err = um_request_irq(UM_IRQ_ALLOC, line_fd, IRQ_READ, line_in_irq, 0, "appliance", &line_device);
	if (err < 0)
		return err;
	err = um_request_irq(UM_IRQ_ALLOC, line_fd, IRQ_WRITE, line_out_irq, 0, "appliance", &line_device);
	if (err < 0)
		return err;
	return misc_register(&line_device);
}

static int __init plug_init(void)
{
	int err;

	if (plug_fd < 0)
		return 0;
	err = os_set_fd_block(plug_fd, 0);
	if (err)
		return err;
	err = um_request_irq(UM_IRQ_ALLOC, plug_fd, IRQ_READ, plug_irq, 0, "appliance-plug", &plug_worker);
	return err < 0 ? err : 0;
}

late_initcall(line_init);
late_initcall(plug_init);
